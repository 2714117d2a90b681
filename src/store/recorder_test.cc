#include "store/recorder.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "store/recorded_device.h"
#include "store/recording.h"
#include "store/tests/facts.h"

namespace warpsmith::store {
namespace {

constexpr int kRecorderSide = 4;

class RecorderTest : public testing::Test {
 protected:
  std::filesystem::path Path() const { return folder_.path() / "r.wsrec"; }
  std::filesystem::path Journal() const { return Path().string() + ".journal.jsonl"; }
  std::unique_ptr<Recorder> Open() const {
    auto recorder = Recorder::Open(Path(), TestHeader());
    EXPECT_TRUE(recorder.ok()) << recorder.error().Line();
    return std::move(*recorder);
  }
  // Appends those points that are not there, `limit` at most; gives how many.
  static int AppendSome(Recorder& recorder, int limit) {
    const Space space = TestSpace(kRecorderSide);
    const int index = *recorder.AddSpace({TestTask(), TestWorkload(), space});
    int appended = 0;
    for (const Point& point : space.points()) {
      const Job job = TestJob(point);
      if (appended == limit || recorder.Has(job.key)) continue;
      EXPECT_TRUE(
          recorder.Append(index, job, {job.key, TestVerdict(point, kRecorderSide), 0.125}).ok());
      ++appended;
    }
    return appended;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("recorder").value();
};

TEST_F(RecorderTest, GoesOnWhereAKilledOneWas) {
  EXPECT_EQ(AppendSome(*Open(), 5), 5);
  // Killed in the middle of a line.
  std::string journal = *ReadFile(Journal());
  ASSERT_TRUE(WriteFileAtomic(Journal(), journal.substr(0, journal.size() - 40)).ok());
  auto recorder = Open();
  EXPECT_EQ(recorder->verdict_count(), 4);
  EXPECT_EQ(AppendSome(*recorder, 100), kRecorderSide * kRecorderSide - 4);
  ASSERT_TRUE(recorder->Finalize().ok());
  EXPECT_FALSE(std::filesystem::exists(Journal()));
  const std::string resumed = *ReadFile(Path());

  std::filesystem::remove(Path());
  recorder.reset();
  recorder = Open();
  AppendSome(*recorder, 100);
  ASSERT_TRUE(recorder->Finalize().ok());
  EXPECT_EQ(*ReadFile(Path()), resumed);
}

TEST_F(RecorderTest, ExtendsAFinishedRecording) {
  {
    auto recorder = Open();
    AppendSome(*recorder, 5);
    ASSERT_TRUE(recorder->Finalize().ok());
  }
  auto recorder = Open();
  EXPECT_EQ(recorder->verdict_count(), 5);
  EXPECT_EQ(AppendSome(*recorder, 100), kRecorderSide * kRecorderSide - 5);
  ASSERT_TRUE(recorder->Finalize().ok());
  EXPECT_EQ((*RecordedDevice::Open(Path()))->Spaces()[0].verdicts, kRecorderSide * kRecorderSide);
}

TEST_F(RecorderTest, TellsWhatEarlierOnesMeasured) {
  EXPECT_FALSE(Open()->IsContinued());
  const BaselineRow baseline{TestSpace(kRecorderSide).name(), "cublas", "TN", Mode::kDeviceHot, 2};
  {
    auto recorder = Open();
    AppendSome(*recorder, 5);
    ASSERT_TRUE(recorder->AppendBaseline(baseline).ok());
    ASSERT_TRUE(recorder->Finalize().ok());
  }
  auto recorder = Open();
  EXPECT_TRUE(recorder->IsContinued());
  EXPECT_TRUE(recorder->HasBaselines(baseline.space));
  EXPECT_FALSE(recorder->HasBaselines(baseline.space.substr(1)));
  EXPECT_FALSE(recorder->HasBaselines(baseline.space + "x"));
  EXPECT_EQ(AppendSome(*recorder, 1), 1);
  int earlier = 0;
  const Space space = TestSpace(kRecorderSide);
  for (const Point& point : space.points()) {
    const std::string key = TestJob(point).key;
    const auto found = recorder->FindEarlier(key).value();
    if (!found) continue;
    ++earlier;
    EXPECT_EQ((found)->key, key);
    EXPECT_EQ((found)->gpu_seconds, 0.125);
    // Each point's is another.
    EXPECT_EQ((found)->verdict.evidence.artifact_sha256,
              TestVerdict(point, kRecorderSide).evidence.artifact_sha256);
  }
  EXPECT_EQ(earlier, 5);
}

TEST_F(RecorderTest, ReplaysOnlyTheMeasuredPartOfASpace) {
  auto recorder = Open();
  AppendSome(*recorder, 5);
  ASSERT_TRUE(recorder->Finalize().ok());
  const auto device = RecordedDevice::Open(Path()).value();
  EXPECT_EQ(device->Spaces()[0].space.size(), 5U);
}

// A profile that a search can replay: metrics in their order, absent ones still absent.
TEST_F(RecorderTest, KeepsProfiles) {
  auto recorder = Open();
  const int index = *recorder->AddSpace({TestTask(), TestWorkload(), TestSpace(kRecorderSide)});
  const Job job = TestJob(TestSpace(kRecorderSide).points().front());
  Verdict verdict = TestVerdict(TestSpace(kRecorderSide).points().front(), kRecorderSide);
  std::get<Passed>(verdict.outcome).profile =
      Profile{"ncu 2025.3.1",
              {{"void first<\"x\">(int)\n", {{"gpu__time_duration.sum", 8192}, {"b__c.pct", 12.5}}},
               {"second", {{"gpu__time_duration.sum", 0.3}}},
               {"second", {}}}};
  ASSERT_TRUE(recorder->Append(index, job, {job.key, verdict, 0.125}).ok());
  ASSERT_TRUE(recorder->Finalize().ok());

  const auto device = RecordedDevice::Open(Path()).value();
  ASSERT_TRUE(device->Submit({job}).ok());
  const auto completed = device->Collect(std::chrono::milliseconds(0)).value();
  ASSERT_EQ(completed.size(), 1U);
  const auto& profile = std::get<Passed>(completed.front().verdict.outcome).profile;
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->source, "ncu 2025.3.1");
  ASSERT_EQ(profile->kernels.size(), 3U);
  EXPECT_EQ(profile->kernels[0].kernel, "void first<\"x\">(int)\n");
  using Metrics = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(profile->kernels[0].metrics,
            (Metrics{{"gpu__time_duration.sum", 8192}, {"b__c.pct", 12.5}}));
  EXPECT_EQ(profile->kernels[1].metrics, (Metrics{{"gpu__time_duration.sum", 0.3}}));
  EXPECT_TRUE(profile->kernels[2].metrics.empty());
}

TEST_F(RecorderTest, KeepsMemosOnceAndBySpace) {
  const std::string text = "a \"reply\"\nof two lines, \xC3\xA9";
  for (int time = 0; time < 2; ++time) {
    auto recorder = Open();
    AppendSome(*recorder, 1);
    const int other =
        *recorder->AddSpace({TestTask(), TestWorkload(), TestSpace(1, "another-space")});
    ASSERT_TRUE(recorder->AppendMemo(0, "chat:1", text).ok());
    ASSERT_TRUE(recorder->AppendMemo(0, "chat:1", "later").ok());
    ASSERT_TRUE(recorder->AppendMemo(other, "chat:1", "another").ok());
    ASSERT_TRUE(recorder->Finalize().ok());
  }
  const auto recording = Recording::Read(Path()).value();
  using Texts = std::map<std::string, std::string>;
  EXPECT_EQ(recording->ReadMemos(0).value(), (Texts{{"chat:1", text}}));
  EXPECT_EQ(recording->ReadMemos(1).value(), (Texts{{"chat:1", "another"}}));
  EXPECT_EQ(recording->Counts().memos, 2);
}

// What an older program can read, it may.
TEST_F(RecorderTest, IsOfTheOldVersionWithoutMemos) {
  for (const int memos : {0, 1}) {
    auto recorder = Open();
    AppendSome(*recorder, 1);
    if (memos > 0) {
      ASSERT_TRUE(recorder->AppendMemo(0, "k", "v").ok());
    }
    ASSERT_TRUE(recorder->Finalize().ok());
    const std::string lines = Recording::Read(Path()).value()->lines();
    EXPECT_TRUE(lines.starts_with("{\"warpsmith_recording\":" + std::to_string(1 + memos) + ","));
  }
}

TEST_F(RecorderTest, KeepsBaselineRowsOnce) {
  auto recorder = Open();
  AppendSome(*recorder, 1);
  const BaselineRow row{"test-256x256x256-NN", "cublaslt-auto", "TN", Mode::kDeviceHot, 12.25};
  ASSERT_TRUE(recorder->AppendBaseline(row).ok());
  ASSERT_TRUE(recorder->AppendBaseline(row).ok());
  ASSERT_TRUE(recorder->Finalize().ok());
  const auto device = RecordedDevice::Open(Path()).value();
  ASSERT_EQ(device->Baselines().size(), 1U);
  EXPECT_EQ(device->Baselines()[0].layout, "TN");
  EXPECT_EQ(device->Baselines()[0].us, 12.25);
}

TEST_F(RecorderTest, RefusesAnotherDevice) {
  AppendSome(*Open(), 1);
  RecordingHeader header = TestHeader();
  header.device.name = "Other GPU";
  EXPECT_EQ(Recorder::Open(Path(), header).error().code, ErrorCode::kConfig);
}

TEST_F(RecorderTest, RefusesAnotherSpaceOfTheSameName) {
  auto recorder = Open();
  AppendSome(*recorder, 1);
  const Space other = TestSpace(kRecorderSide + 1);
  EXPECT_EQ(recorder->AddSpace({TestTask(), TestWorkload(), other}).error().code,
            ErrorCode::kConfig);
}

TEST_F(RecorderTest, OneProcessAtATime) {
  const auto recorder = Open();
  EXPECT_EQ(Recorder::Open(Path(), TestHeader()).error().code, ErrorCode::kBusy);
}

}  // namespace
}  // namespace warpsmith::store
