#include "core/serialize.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "base/build_info.h"
#include "base/file.h"
#include "base/random.h"
#include "core/json_fields.h"
#include "core/tests/gemm_example.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Random values of every serialized kind: each field by its type (core/fields.h), and what Finish
// asks for.
class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : random_(seed, "values") {}

  template <typename T>
  T Any() {
    T value{};
    Fill(value);
    return value;
  }

  bool Flip() { return random_.Below(2) == 0; }
  int64_t Count(int64_t most) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most) + 1));
  }
  int64_t Integer() { return static_cast<int64_t>(random_.Bits() >> random_.Below(64)); }

  // Every kind of double, the rare ones often.
  double Number() {
    switch (random_.Below(8)) {
      case 0:
        return 0;
      case 1:
        return std::numeric_limits<double>::quiet_NaN();
      case 2:
        return -std::numeric_limits<double>::infinity();
      case 3:
        return random_.Normal();
      default:
        break;
    }
    double value = 0;
    const uint64_t bits = random_.Bits();
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  std::string Text() {
    constexpr std::string_view kPieces[] = {"a",        "\"",
                                            "\\",       "\n",
                                            "\t",       "\x01",
                                            "\xc3\xbc", "\xf0\x9f\x98\x80",
                                            "{",        "long piece of text "};
    std::string text;
    for (int64_t i = Count(6); i > 0; --i) text += kPieces[random_.Below(std::size(kPieces))];
    return text;
  }

 private:
  // --- By type.

  void Fill(bool& value) { value = Flip(); }
  void Fill(uint8_t& value) { value = static_cast<uint8_t>(Count(255)); }
  void Fill(int& value) { value = static_cast<int>(Count(9)); }
  void Fill(int64_t& value) { value = Count(1000); }
  void Fill(double& value) { value = Number(); }
  void Fill(float& value) {
    const auto bits = static_cast<uint32_t>(random_.Bits());
    std::memcpy(&value, &bits, sizeof(value));
  }
  void Fill(std::string& text) { text = Text(); }
  void Fill(Expression& formula) {
    constexpr std::string_view kTexts[] = {"0",
                                           "1",
                                           "-3",
                                           "007",
                                           "M",
                                           "ceil_div(M, 128) * 2",
                                           "9223372036854775807",
                                           "M % 2 == 0 ? 1 : sm_count"};
    formula = Expression::Literal(kTexts[random_.Below(std::size(kTexts))]);
  }
  void Fill(Interval& interval) { interval = {Number(), Number()}; }
  void Fill(std::pair<std::string, double>& named) { named = {Text(), Number()}; }

  template <typename E>
  requires std::is_enum_v<E>
  void Fill(E& value) {
    const auto names = json_fields::Names<E>();
    value = names[random_.Below(names.size())].value;
  }
  template <typename V, typename Compare>
  void Fill(std::map<std::string, V, Compare>& map) {
    for (int64_t i = Count(2); i > 0; --i) Fill(map[Name()]);
  }
  template <typename T>
  void Fill(std::array<T, 3>& items) {
    for (T& item : items) Fill(item);
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    if (Flip()) value = Item<T>();
  }
  template <typename T>
  void Fill(std::vector<T>& items) {
    items.clear();
    for (int64_t i = Count(3); i > 0; --i) items.push_back(Item<T>());
  }
  template <typename... Kinds>
  void Fill(std::variant<Kinds...>& value) {
    const size_t chosen = random_.Below(sizeof...(Kinds));
    size_t index = 0;
    ((index++ == chosen ? Fill(value.template emplace<Kinds>()) : void()), ...);
  }
  template <Listed T>
  void Fill(T& value) {
    ForEachField<T>([&](const auto& field) {
      auto& member = value.*field.member;
      if constexpr (std::is_same_v<decltype(member), std::string&>) {
        member = field.kind == Kind::kName ? Name() : Text();
      } else {
        Fill(member);
      }
    });
    if constexpr (Finished<T>) Mend(value);
  }

  template <typename T>
  T Item() {
    if constexpr (std::is_same_v<T, Expression>) {
      Expression value = Expression::Constant(0);
      Fill(value);
      return value;
    } else {
      return Any<T>();
    }
  }

  // --- Kinds without a list.

  void Fill(TensorArgument& argument) { argument.tensor = Name(); }
  void Fill(WorkspaceArgument& argument) { argument.workspace = Name(); }
  void Fill(TableArgument& table) { table.values = {1, -2, static_cast<int32_t>(random_.Bits())}; }
  void Fill(IntArgument& argument) {
    Fill(argument.value);
    argument.bytes = Flip() ? 4 : 8;
  }
  void Fill(FloatArgument& argument) { argument = {Number(), Flip() ? 4 : 8}; }
  void Fill(Sample& sample) {
    sample = {static_cast<int>(Count(3)), static_cast<int>(Count(9)), 0, 0, 0, 0};
    Fill(sample.us);
    if (Flip()) Fill(sample.sm_mhz);
  }
  void Fill(Verdict& verdict) {
    Fill(verdict.outcome);
    Fill(verdict.evidence);
  }

  // --- What holds between fields: serialize.cc, Finish.

  void Mend(TensorMapArgument& map) {
    const size_t rank = 1 + random_.Below(5);
    for (auto* extents : {&map.dims, &map.box, &map.element_strides, &map.strides_bytes}) {
      extents->assign(rank, Item<Expression>());
    }
    map.strides_bytes.pop_back();
    map.interleave_bytes = Flip() ? 0 : 16;
    map.l2_promotion_bytes = Flip() ? 0 : 256;
  }
  void Mend(LaunchOperation& /*launch*/) {}
  void Mend(LaunchPlan& /*plan*/) {}
  void Mend(TensorSpec& /*tensor*/) {}
  void Mend(Candidate& candidate) {
    candidate.entry = Name();
    candidate.sources[candidate.entry] = Text();
    candidate.toolchain = Flip() ? "nvcc" : "nvrtc";
  }
  void Mend(Tolerance& tolerance) {
    const bool given = !tolerance.reduction_length;
    tolerance.absolute = given ? 1e-3 : 0;
    tolerance.relative = 0;
    tolerance.reason = Name();
  }
  void Mend(Workload& workload) { workload.weight = 0.5 + random_.Uniform(); }
  void Mend(Task& /*task*/) {}
  void Mend(Protocol& protocol) {
    const Protocol valid = Flip() ? Protocol::Certified() : Protocol::Paper();
    protocol.modes = valid.modes;
    protocol.rounds = 1 + static_cast<int>(Count(9));
    protocol.samples_per_round = 1 + static_cast<int>(Count(9));
    protocol.runner_processes = 1 + static_cast<int>(Count(9));
    protocol.max_rounds = protocol.rounds + static_cast<int>(Count(9));
    protocol.confidence = 0.5 + random_.Uniform() / 3;
    protocol.band = random_.Uniform() / 2;
    protocol.target_half_width = Flip() ? 0 : random_.Uniform();
    protocol.warmup_seconds = valid.warmup_seconds;
    protocol.measure_seconds = valid.measure_seconds;
    protocol.step_timeout_ms = 1 + Count(100'000);
  }
  void Mend(ChatRequest& request) { request.samples = 1 + static_cast<int>(Count(9)); }
  void Mend(ChatSample& /*sample*/) {}

  std::string Name() { return "n" + std::to_string(random_.Bits()); }

  Random random_;
};

// The text of a value read back from its own text; what was wrong otherwise.
template <typename T>
std::string ThereAndBack(const T& value, Result<T> (*from)(const JsonReader&)) {
  const json written = json::parse(ToJson(value).dump());
  const Result<T> read = from(JsonReader("x", written));
  return read.ok() ? ToJson(*read).dump() : read.error().message;
}

template <typename T>
void ExpectRoundTrips(Result<T> (*from)(const JsonReader&)) {
  EXPECT_TRUE(rc::check([&](uint64_t seed) {
    const T value = RandomValues(seed).Any<T>();
    const std::string text = ToJson(value).dump();
    const std::string again = ThereAndBack(value, from);
    RC_ASSERT(again == text);
  }));
}

TEST(Serialize, RandomValuesRoundTrip) {
  ExpectRoundTrips(LaunchPlanFrom);
  ExpectRoundTrips(TaskFrom);
  ExpectRoundTrips(WorkloadFrom);
  ExpectRoundTrips(CandidateFrom);
  ExpectRoundTrips(ProvenanceFrom);
  ExpectRoundTrips(ArtifactFrom);
  ExpectRoundTrips(ProtocolFrom);
  ExpectRoundTrips(DeviceInfoFrom);
  ExpectRoundTrips(VerdictFrom);
  ExpectRoundTrips(RewardTermsFrom);
  ExpectRoundTrips(ChatRequestFrom);
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
  EXPECT_THAT(ErrorOf(R"([])", WorkloadFrom), HasSubstr("expected an object"));
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

// A module of 300 weights is a function of 300 parameters.
TEST(Serialize, ADeclarationIsLongerThanAName) {
  Task task = GemmTask();
  task.program = ProgramEntry{"void run(void* y", {"y"}};
  for (int i = 0; i < 300; ++i) {
    task.program->declaration += ", const void* weight_" + std::to_string(i);
    task.program->arguments.push_back("weight_" + std::to_string(i));
  }
  task.program->declaration += ")";
  const json written = ToJson(task);
  const auto read = TaskFrom(JsonReader("task", written));
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->program->declaration, task.program->declaration);
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
void ExpectSurvivesMutations(Result<T> (*from)(const JsonReader&)) {
  EXPECT_TRUE(rc::check([&](uint64_t seed) {
    RandomValues random(seed);
    json mutated = json::parse(ToJson(random.Any<T>()).dump());
    for (int64_t i = random.Count(2); i >= 0; --i) Mutate(mutated, random);
    const Result<T> read = from(JsonReader("x", mutated));
    if (!read.ok()) return;
    const std::string text = ToJson(*read).dump();
    const std::string again = ThereAndBack(*read, from);
    RC_ASSERT(again == text);
  }));
}

TEST(Serialize, MutatedJsonIsReadOrRefused) {
  ExpectSurvivesMutations(LaunchPlanFrom);
  ExpectSurvivesMutations(TaskFrom);
  ExpectSurvivesMutations(CandidateFrom);
  ExpectSurvivesMutations(ArtifactFrom);
  ExpectSurvivesMutations(ProtocolFrom);
  ExpectSurvivesMutations(DeviceInfoFrom);
  ExpectSurvivesMutations(VerdictFrom);
  ExpectSurvivesMutations(RewardTermsFrom);
}

}  // namespace
}  // namespace warpsmith
