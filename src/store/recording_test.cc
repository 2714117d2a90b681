#include "store/recording.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/compression.h"
#include "base/file.h"
#include "core/serialize.h"
#include "store/recorded_device.h"
#include "store/tests/facts.h"
#include "store/verdict_parts.h"

namespace warpsmith::store {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr int kRecordingSide = 6;

// As a recording gives it back: derived numbers have nine digits, samples are exact.
nlohmann::json Rounded9(const Verdict& verdict) {
  nlohmann::json json = ToJson(verdict);
  RoundNumbers(json);
  return json;
}

class RecordingTest : public testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name = "h200.wsrec") const {
    return folder_.path() / name;
  }
  void Write(int64_t size = 256, const std::string& name = "h200.wsrec") const {
    const Status written = WriteTestRecording(Path(name), kRecordingSide, size);
    ASSERT_TRUE(written.ok()) << written.error().Line();
  }
  std::unique_ptr<RecordedDevice> Open() const {
    auto device = RecordedDevice::Open(Path());
    EXPECT_TRUE(device.ok()) << device.error().Line();
    return std::move(*device);
  }
  std::string Lines() const { return *Decompress("test", *ReadFile(Path())); }
  Error ErrorOf(const std::string& lines) const {
    EXPECT_TRUE(WriteFileAtomic(Path(), Compress(lines)).ok());
    const auto recording = Recording::Read(Path());
    EXPECT_FALSE(recording.ok());
    return recording.ok() ? Error{} : recording.error();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("recording").value();
};

TEST_F(RecordingTest, GivesEveryVerdictBack) {
  Write();
  auto device = Open();
  const Space space = TestSpace(kRecordingSide);
  for (const Point& point : space.points()) {
    ASSERT_TRUE(device->Submit({TestJob(point)}).ok());
    const auto completed = device->Collect(milliseconds(0)).value();
    ASSERT_EQ(completed.size(), 1U);
    EXPECT_EQ(Rounded9((completed)[0].verdict), Rounded9(TestVerdict(point, kRecordingSide)));
    EXPECT_EQ((completed)[0].gpu_seconds, 0.125);
  }
  EXPECT_TRUE(device->Collect(milliseconds(0))->empty());
}

TEST_F(RecordingTest, SamplesAreExact) {
  Write();
  const Point point = TestSpace(kRecordingSide).points()[0];
  const auto completed = Open()->LookUp(TestJob(point).key);
  ASSERT_TRUE(completed.ok());
  const ModeTiming* got = FindTiming(completed->verdict, Mode::kDeviceHot);
  const Verdict expected_verdict = TestVerdict(point, kRecordingSide);
  const ModeTiming* expected = FindTiming(expected_verdict, Mode::kDeviceHot);
  ASSERT_TRUE(got != nullptr && expected != nullptr);
  ASSERT_EQ(got->baselines.size(), expected->baselines.size());
  for (size_t i = 0; i < expected->baselines.size(); ++i) {
    const auto& a = got->baselines[i].samples;
    const auto& b = expected->baselines[i].samples;
    ASSERT_EQ(a.size(), b.size());
    for (size_t j = 0; j < b.size(); ++j) {
      EXPECT_EQ(a[j].us, b[j].us);
      EXPECT_EQ(a[j].power_w, b[j].power_w);
      EXPECT_EQ(a[j].round, b[j].round);
    }
  }
}

TEST_F(RecordingTest, StandsAlone) {
  Write();
  auto device = Open();
  ASSERT_EQ(device->Spaces().size(), 1U);
  const ReplaySpace& space = device->Spaces()[0];
  EXPECT_EQ(space.space.name(), "test-256x256x256-NN");
  EXPECT_EQ(space.space.points(), TestSpace(kRecordingSide).points());
  EXPECT_EQ(space.verdicts, kRecordingSide * kRecordingSide);
  const Point& point = space.space.points()[5];
  const auto candidate = space.make(point).value();
  EXPECT_EQ(CandidateId(candidate), CandidateId(TestCandidate(point)));
  EXPECT_EQ(candidate.provenance.config, point.config);
  EXPECT_EQ(space.make({"test", {{"x", 99}, {"y", 0}}}).error().code, ErrorCode::kNotRecorded);
  EXPECT_FALSE(device->Info().needs_artifacts);
  EXPECT_EQ(device->Info().uuid, TestDevice().uuid);
}

TEST_F(RecordingTest, RefusesWhatWasNeverMeasured) {
  Write();
  auto device = Open();
  Job known = TestJob(TestSpace(kRecordingSide).points()[0]);
  Job other_point = TestJob({"test", {{"x", 99}, {"y", 0}}});
  ASSERT_TRUE(device->Submit({known, other_point, known}).ok());
  EXPECT_EQ(device->Collect(milliseconds(0))->size(), 1U);
  const auto refused = device->Collect(milliseconds(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotRecorded);
  EXPECT_THAT(refused.error().message, HasSubstr("x=99"));
  EXPECT_THAT(refused.error().message, HasSubstr("36 candidates"));
  EXPECT_EQ(device->Collect(milliseconds(0))->size(), 1U);

  ASSERT_TRUE(device->Submit({TestJob(TestSpace(kRecordingSide).points()[0], 512)}).ok());
  const auto other_shape = device->Collect(milliseconds(0));
  ASSERT_FALSE(other_shape.ok());
  EXPECT_THAT(other_shape.error().message, HasSubstr("other sizes, such as test-256x256x256-NN"));
}

TEST_F(RecordingTest, SaysWhatIsWrongWithAPlanThatIsNeverLaunched) {
  Write();
  auto device = Open();
  Job job = TestJob({"test", {{"x", 99}, {"y", 0}}});
  LaunchOperation launch;
  launch.kernel = "k";
  launch.grid[0] = Expression::Literal("N / (M - 256)");
  job.candidate.plan.operations = {launch};
  ASSERT_TRUE(device->Submit({job}).ok());
  const auto refused = device->Collect(milliseconds(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  for (const char* expected : {"for workload '256x256x256'", "grid[0]", "divides by zero"}) {
    EXPECT_THAT(refused.error().message, HasSubstr(expected));
  }
  // A failure without a GPU, unless a GPU's answer decides.
  EXPECT_TRUE(std::holds_alternative<Rejected>(device->Unmeasured(job)));
  launch.grid[0] = Expression::Literal("1 / (max_active_clusters - 1)");
  job.candidate.plan.operations = {launch};
  EXPECT_TRUE(std::holds_alternative<Inconclusive>(device->Unmeasured(job)));
  EXPECT_TRUE(std::holds_alternative<Inconclusive>(
      device->Unmeasured(TestJob({"test", {{"x", 99}, {"y", 0}}}))));
}

TEST_F(RecordingTest, JoinsAFolderOfRecordings) {
  Write(256, "a.wsrec");
  Write(512, "b.wsrec");
  const auto device = RecordedDevice::Open(folder_.path()).value();
  EXPECT_EQ((device)->Spaces().size(), 2U);
  EXPECT_TRUE((device)->Has(TestJob(TestSpace(kRecordingSide).points()[0], 256).key));
  EXPECT_TRUE((device)->Has(TestJob(TestSpace(kRecordingSide).points()[0], 512).key));
  EXPECT_NE((device)->FindSpace("gemm", TestWorkload(512).sizes), nullptr);
}

TEST_F(RecordingTest, AnEmptyFolderIsNoInput) {
  EXPECT_EQ(RecordedDevice::Open(folder_.path()).error().code, ErrorCode::kNoInput);
}

TEST_F(RecordingTest, RefusesAnotherVersion) {
  Write();
  std::string lines = Lines();
  lines.replace(lines.find(":1,"), 3, ":" + std::to_string(kRecordingVersion + 1) + ",");
  EXPECT_EQ(ErrorOf(lines).code, ErrorCode::kVersion);
}

TEST_F(RecordingTest, RefusesATruncatedFile) {
  Write();
  const std::string bytes = *ReadFile(Path());
  ASSERT_TRUE(WriteFileAtomic(Path(), bytes.substr(0, bytes.size() / 2)).ok());
  EXPECT_EQ(Recording::Read(Path()).error().code, ErrorCode::kBadInput);
}

TEST_F(RecordingTest, RefusesMissingLines) {
  Write();
  std::string lines = Lines();
  lines.resize(lines.rfind('\n', lines.size() - 2) + 1);
  const Error error = ErrorOf(lines);
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_THAT(error.message, HasSubstr("not as many"));
}

TEST_F(RecordingTest, NamesTheDamagedLine) {
  Write();
  std::string lines = Lines();
  const size_t second = lines.find('\n') + 1;
  lines.replace(second, 2, "??");
  const Error error = ErrorOf(lines);
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_THAT(error.message, HasSubstr("line 2"));
}

TEST_F(RecordingTest, NamesTheLineOfAVerdictThatCannotBeRead) {
  Write();
  std::string lines = Lines();
  const std::string key = TestJob(TestSpace(kRecordingSide).points()[0]).key;
  const size_t at = lines.find("\"gpu_seconds\":", lines.find("{\"verdict\":\"" + key));
  lines.replace(at, 14, "\"gpu_secondz\":");
  ASSERT_TRUE(WriteFileAtomic(Path(), Compress(lines)).ok());
  const auto completed = Open()->LookUp(key);
  ASSERT_FALSE(completed.ok());
  EXPECT_EQ(completed.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(completed.error().message, HasSubstr(", line "));
  EXPECT_THAT(completed.error().message, HasSubstr("gpu_secondz"));
}

TEST_F(RecordingTest, ACandidateOfNoPointIsAnErrorWhenItIsAskedFor) {
  Write();
  for (const std::string place : {"[1,0]", "[0,99999]"}) {
    std::string lines = Lines();
    const size_t begin = lines.find("{\"candidate\":[0,0]");
    ASSERT_NE(begin, std::string::npos);
    std::string added = lines.substr(begin, lines.find('\n', begin) + 1 - begin);
    lines.insert(begin, added.replace(added.find("[0,0]"), 5, place));
    const std::string count = fmt::format("\"candidates\":{}", kRecordingSide * kRecordingSide);
    ASSERT_NE(lines.find(count), std::string::npos) << lines.substr(0, 200);
    lines.replace(lines.find(count), count.size(),
                  fmt::format("\"candidates\":{}", kRecordingSide * kRecordingSide + 1));
    const auto recording = Recording::FromLines("test", lines).value();
    const auto candidate = (recording)->ReadCandidate(*(recording)->Candidates().rbegin());
    ASSERT_FALSE(candidate.ok());
    EXPECT_EQ(candidate.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(candidate.error().message, HasSubstr("of no point"));
  }
}

TEST_F(RecordingTest, RefusesKeysOfAnotherProgram) {
  Write();
  std::string lines = Lines();
  for (size_t at = lines.find("{\"verdict\":\""); at != std::string::npos;
       at = lines.find("{\"verdict\":\"", at + 20)) {
    lines[at + 12] = lines[at + 12] == '0' ? '1' : '0';
  }
  ASSERT_TRUE(WriteFileAtomic(Path(), Compress(lines)).ok());
  EXPECT_EQ(RecordedDevice::Open(Path()).error().code, ErrorCode::kVersion);
}

// 6,000 verdicts must fit into 3 MB.
TEST_F(RecordingTest, IsSmall) {
  ASSERT_TRUE(WriteTestRecording(Path(), 32).ok());
  const auto bytes = std::filesystem::file_size(Path());
  EXPECT_LT(bytes / (32 * 32), 500U);
  RecordProperty("bytes_per_verdict", static_cast<int>(bytes / (32 * 32)));
}

}  // namespace
}  // namespace warpsmith::store
