#include "core/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/file.h"
#include "core/gemm_example.h"
#include "core/json_fields.h"
#include "core/random_values.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// The text of a value read back from its own text; what was wrong otherwise.
template <typename T>
std::string ThereAndBack(const T& value, Result<T> (*from)(const JsonReader&)) {
  const json written = json::parse(ToJson(value).dump());
  const Result<T> read = from(JsonReader("x", written));
  return read.ok() ? ToJson(*read).dump() : read.error().message;
}

template <typename T>
void ExpectRoundTrips(T (RandomValues::*make)(), Result<T> (*from)(const JsonReader&)) {
  EXPECT_TRUE(rc::check([&](uint64_t seed) {
    const T value = (RandomValues(seed).*make)();
    const std::string text = ToJson(value).dump();
    const std::string again = ThereAndBack(value, from);
    RC_ASSERT(again == text);
  }));
}

TEST(Serialize, RandomValuesRoundTrip) {
  ExpectRoundTrips(&RandomValues::Plan, LaunchPlanFrom);
  ExpectRoundTrips(&RandomValues::AnyTask, TaskFrom);
  ExpectRoundTrips(&RandomValues::AnyWorkload, WorkloadFrom);
  ExpectRoundTrips(&RandomValues::AnyCandidate, CandidateFrom);
  ExpectRoundTrips(&RandomValues::AnyProvenance, ProvenanceFrom);
  ExpectRoundTrips(&RandomValues::AnyArtifact, ArtifactFrom);
  ExpectRoundTrips(&RandomValues::AnyProtocol, ProtocolFrom);
  ExpectRoundTrips(&RandomValues::AnyDevice, DeviceInfoFrom);
  ExpectRoundTrips(&RandomValues::AnyVerdict, VerdictFrom);
  ExpectRoundTrips(&RandomValues::AnyPoint, PointFrom);
  ExpectRoundTrips(&RandomValues::AnyCost, CostFrom);
  ExpectRoundTrips(&RandomValues::AnyTerms, RewardTermsFrom);
}

TEST(Serialize, BlankValuesRoundTrip) {  // the store keeps verdicts without their times
  EXPECT_EQ(ThereAndBack(Candidate{}, CandidateFrom), ToJson(Candidate{}).dump());
  EXPECT_EQ(ThereAndBack(Task{}, TaskFrom), ToJson(Task{}).dump());
  EXPECT_EQ(ThereAndBack(DeviceInfo{}, DeviceInfoFrom), ToJson(DeviceInfo{}).dump());
  EXPECT_EQ(ThereAndBack(Artifact{}, ArtifactFrom), ToJson(Artifact{}).dump());
  EXPECT_EQ(ThereAndBack(Verdict{}, VerdictFrom), ToJson(Verdict{}).dump());
  Passed passed;
  passed.timings = {{"", {ModeTiming{}}}};
  EXPECT_EQ(ThereAndBack(Verdict{passed, {}}, VerdictFrom), ToJson(Verdict{passed, {}}).dump());
  EXPECT_EQ(ThereAndBack(Protocol::Screened(), ProtocolFrom), ToJson(Protocol::Screened()).dump());
}

TEST(Serialize, KeepsEveryNumberOfASample) {
  const json written = json::parse(ToJson(GemmVerdict()).dump());
  const auto verdict = VerdictFrom(JsonReader("x", written));
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  const ModeTiming* mode = FindTiming(*verdict, Mode::kDeviceHot);
  ASSERT_NE(mode, nullptr);
  EXPECT_EQ(mode->candidate.samples.size(), 4U);
  EXPECT_EQ(mode->candidate.samples[3].round, 1);
  EXPECT_EQ(mode->candidate.samples[3].sm_mhz, 1740);
  EXPECT_EQ(mode->candidate.samples[3].power_w, 303);
  EXPECT_EQ(mode->baselines[0].samples[1].us, 12);
  EXPECT_EQ(verdict->evidence.kernels[0].registers_per_thread, 168);
}

TEST(Serialize, VerdictsOfOlderProgramsHaveNoBiasAndStayAsTheyAre) {
  const json old = json::parse(
      R"({"outcome":"passed","level":"certified","timings":[],)"
      R"("correctness":{"max_deviation":[0.5],"worst_bound_fraction":0.25,"outputs_verified":7}})");
  const auto verdict = VerdictFrom(JsonReader("x", old));
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  const Correctness& correctness = std::get<Passed>(verdict->outcome).correctness;
  EXPECT_FALSE(correctness.bias.has_value());
  EXPECT_TRUE(correctness.rare_errors.empty());
  EXPECT_EQ(ToJson(*verdict), old);
}

TEST(Serialize, SamplesAreColumnsWithoutTheEmptyOnes) {
  const json baseline = ToJson(GemmVerdict())["timings"][0]["modes"][0]["baselines"][0];
  EXPECT_EQ(baseline["samples"].dump(), R"({"n":2,"round":[0,1],"us":[10.0,12.0]})");
}

TEST(Serialize, FloatsKeepTheirShortestDigits) {
  EXPECT_EQ(json_fields::Value(3.3F).dump(), "3.3");
  EXPECT_EQ(json_fields::Value(1e-45F).dump(), "1e-45");
  constexpr float kLargest = std::numeric_limits<float>::max();
  const json largest = json_fields::Value(kLargest), too_large = 4e38;
  float read = 0;
  EXPECT_TRUE(json_fields::Read(JsonReader("x", largest), read).ok());
  EXPECT_EQ(read, kLargest);
  EXPECT_FALSE(json_fields::Read(JsonReader("x", too_large), read).ok());
  EXPECT_TRUE(rc::check([](uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    const json written = json::parse(json_fields::Value(value).dump());
    float back = 0;
    RC_ASSERT(json_fields::Read(JsonReader("x", written), back).ok());
    RC_ASSERT((back == value || std::isnan(value)));
  }));
}

TEST(Serialize, BytesThatAreNotTextCannotStopIt) {
  EXPECT_EQ(ToJson(Verdict{CompileFailed{"bad \xff byte", "", false}, {}}).dump(),
            "{\"outcome\":\"compile-failed\",\"reason\":\"bad \xef\xbf\xbd byte\"}");
}

template <typename T>
std::string ErrorOf(const char* text, Result<T> (*from)(const JsonReader&)) {
  const json parsed = json::parse(text);
  const Result<T> value = from(JsonReader("f.json", parsed));
  return value.ok() ? "" : value.error().message;
}

TEST(Serialize, SaysWhereAndWhat) {
  EXPECT_EQ(ErrorOf(R"({"version":1,"operations":[{"type":"launch","kernel":"k","grid":[1,1],
                        "block":[1,1,1],"arguments":[]}]})",
                    LaunchPlanFrom),
            "f.json: operations[0].grid: expected three expressions, found an array of 2");
  EXPECT_THAT(ErrorOf(R"({"version":1,"operations":[{"type":"launch","kernel":"k","grid":[1,1,1],
                          "block":["M +",1,1],"arguments":[]}]})",
                      LaunchPlanFrom),
              HasSubstr("operations[0].block[0]: expected an expression (expression \"M +\""));
  EXPECT_THAT(ErrorOf(R"({"version":1,"operations":[],"valid_wen":"M"})", LaunchPlanFrom),
              HasSubstr("valid_wen: unknown field"));
  EXPECT_THAT(
      ErrorOf(R"({"version":1,"operations":[{"type":"jump"}]})", LaunchPlanFrom),
      HasSubstr("operations[0].type: expected launch, memset, copy or pad, found \"jump\""));
  EXPECT_THAT(ErrorOf(R"({"name":"w","sizes":{"M":-1}})", WorkloadFrom),
              HasSubstr("sizes.M: expected a size from 0, found -1"));
  EXPECT_THAT(ErrorOf(R"({"name":"w","sizes":{"sm_count":1}})", WorkloadFrom),
              HasSubstr("the device's"));
  EXPECT_THAT(ErrorOf(R"({"outcome":"passed"})", VerdictFrom), HasSubstr("level"));
  EXPECT_THAT(ErrorOf(R"({"evaluations":-1})", CostFrom), HasSubstr("evaluations"));
  EXPECT_THAT(ErrorOf(R"([])", CostFrom), HasSubstr("expected an object"));
}

TEST(Serialize, ReadsTheExampleOfItsPage) {
  const auto page =
      ReadFile(std::filesystem::path(build_info::SourceRoot()) / "docs/task-format.md");
  ASSERT_TRUE(page.ok());
  const size_t begin = page->find("```json\n") + 8;
  const std::string text = page->substr(begin, page->find("```", begin) - begin);
  const json example = json::parse(text);
  const auto plan = LaunchPlanFrom(JsonReader("example", example));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(ToJson(*plan).dump(), ToJson(GemmCandidate().plan).dump());
}

TEST(Serialize, RefusesOtherVersions) {
  const json plan = json::parse(R"({"version":2,"operations":[]})");
  const auto read = LaunchPlanFrom(JsonReader("f.json", plan));
  EXPECT_EQ(read.error().code, ErrorCode::kVersion);
  EXPECT_THAT(read.error().message, HasSubstr("version 1 of a launch plan"));
  EXPECT_FALSE(ErrorOf(R"({"operations":[]})", LaunchPlanFrom).empty());
}

TEST(Serialize, GivenTolerancesNeedAReason) {
  json task = ToJson(GemmTask());
  task["tolerance"] = {{"absolute", 0.1}};
  EXPECT_THAT(ErrorOf(task.dump().c_str(), TaskFrom), HasSubstr("tolerance.reason"));
  task["tolerance"]["reason"] = "sums of a million terms";
  EXPECT_EQ(ErrorOf(task.dump().c_str(), TaskFrom), "");
  task["tolerance"]["reduction_length"] = "K";
  EXPECT_THAT(ErrorOf(task.dump().c_str(), TaskFrom), HasSubstr("not both"));
}

// --- Mutations: whatever is changed, reading ends in a value or an Error.

json Junk(RandomValues& random) {
  switch (random.Count(9)) {
    case 0:
      return nullptr;
    case 1:
      return random.Integer();
    case 2:
      return -1;
    case 3:
      return random.Flip();
    case 4:
      return random.Text();
    case 5:
      return json::array();
    case 6:
      return json::object();
    case 7:
      return 1e300;
    case 8:
      return json::array({1, "x", json::object()});
    default:
      return std::numeric_limits<uint64_t>::max();
  }
}

void Mutate(json& node, RandomValues& random) {
  const bool descend = node.is_structured() && !node.empty() && random.Count(5) != 0;
  if (!descend) {
    node = Junk(random);
    return;
  }
  auto child = node.begin();
  std::advance(child, random.Count(static_cast<int64_t>(node.size()) - 1));
  switch (random.Count(8)) {
    case 0:
      node.erase(child);
      return;
    case 1:
      if (node.is_object()) {
        node[random.Text()] = Junk(random);
      } else {
        node.push_back(*child);
      }
      return;
    default:
      Mutate(*child, random);
  }
}

template <typename T>
void ExpectSurvivesMutations(T (RandomValues::*make)(), Result<T> (*from)(const JsonReader&)) {
  EXPECT_TRUE(rc::check([&](uint64_t seed) {
    RandomValues random(seed);
    json mutated = json::parse(ToJson((random.*make)()).dump());
    for (int64_t i = random.Count(2); i >= 0; --i) Mutate(mutated, random);
    const Result<T> read = from(JsonReader("x", mutated));
    if (!read.ok()) return;
    const std::string text = ToJson(*read).dump();
    const std::string again = ThereAndBack(*read, from);
    RC_ASSERT(again == text);
  }));
}

TEST(Serialize, MutatedJsonIsReadOrRefused) {
  ExpectSurvivesMutations(&RandomValues::Plan, LaunchPlanFrom);
  ExpectSurvivesMutations(&RandomValues::AnyTask, TaskFrom);
  ExpectSurvivesMutations(&RandomValues::AnyCandidate, CandidateFrom);
  ExpectSurvivesMutations(&RandomValues::AnyArtifact, ArtifactFrom);
  ExpectSurvivesMutations(&RandomValues::AnyProtocol, ProtocolFrom);
  ExpectSurvivesMutations(&RandomValues::AnyDevice, DeviceInfoFrom);
  ExpectSurvivesMutations(&RandomValues::AnyVerdict, VerdictFrom);
  ExpectSurvivesMutations(&RandomValues::AnyTerms, RewardTermsFrom);
}

}  // namespace
}  // namespace warpsmith
