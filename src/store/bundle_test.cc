#include "store/bundle.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "core/serialize.h"
#include "store/recorded_device.h"
#include "store/tests/facts.h"

namespace warpsmith::store {
namespace {

using testing::HasSubstr;

constexpr int kBundleSide = 4;
constexpr int64_t kJobs = 12;

// Answers from the cost function, as a GPU that holds the cubins would.
Verdict JudgedImage(const Job& job) {
  EXPECT_EQ(Sha256Hex(job.artifact->image), job.artifact->image_sha256);
  return TestVerdict({job.candidate.provenance.family, job.candidate.provenance.config},
                     kBundleSide);
}
struct ImageDevice : AnsweringDevice {
  ImageDevice() : AnsweringDevice(JudgedImage, 0.125) {}
};

class BundleTest : public testing::Test {
 protected:
  std::filesystem::path Folder() const { return folder_.path() / "bundle"; }
  BundleContents Contents() const {
    BundleContents contents;
    const Space space = TestSpace(kBundleSide);
    for (size_t i = 0; i < kJobs; ++i) {
      Job job = TestJob(space.points()[i]);
      Artifact artifact;
      artifact.image = "image of " + PointName(space.points()[i]);
      artifact.image_sha256 = Sha256Hex(artifact.image);
      artifact.architecture = "sm_90a";
      artifact.toolchain = "nvrtc 13.0";
      job.artifact = artifact;
      contents.jobs.push_back(job);
    }
    contents.command = "warpsmith bundle make";
    contents.executable = ThisExecutable();
    contents.files = {{"judge.cubin", "judge"}};
    return contents;
  }
  void Make() {
    const Status made = MakeBundle(Folder(), Contents());
    ASSERT_TRUE(made.ok()) << made.error().Line();
  }
  Bundle Read() {
    auto bundle = ReadBundle(Folder());
    EXPECT_TRUE(bundle.ok()) << bundle.error().Line();
    return std::move(*bundle);
  }
  std::unique_ptr<DatabaseStore> OpenStore() {
    return DatabaseStore::Open(folder_.path() / "store", Durability::kProcessDeath).value();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("bundle").value();
};

TEST_F(BundleTest, TravelsThereAndBack) {
  Make();
  EXPECT_TRUE(std::filesystem::exists(Folder() / "run"));
  EXPECT_TRUE(std::filesystem::exists(Folder() / "warpsmith"));
  EXPECT_EQ(*ReadFile(Folder() / "judge.cubin"), "judge");
  ImageDevice device;
  const auto run = RunBundle(Read(), device, nullptr, nullptr).value();
  EXPECT_EQ(run.done, kJobs);

  auto store = OpenStore();
  const auto taken = TakeBundle(Folder(), *store).value();
  EXPECT_EQ(taken.imported, kJobs);
  const std::string once = *CanonicalDump(*store);
  EXPECT_EQ(TakeBundle(Folder(), *store)->known_before, kJobs);
  EXPECT_EQ(*CanonicalDump(*store), once);
  EXPECT_TRUE(store->FindVerdict(Contents().jobs[0].key, TestDevice().uuid)->has_value());
}

TEST_F(BundleTest, IsADeviceThatAnswersWhatItMeasured) {
  Make();
  EXPECT_EQ(RecordedDevice::Open(Folder()).error().code, ErrorCode::kNotRecorded);
  ImageDevice gpu;
  ASSERT_TRUE(RunBundle(Read(), gpu, nullptr, nullptr).ok());
  const auto device = RecordedDevice::Open(Folder()).value();
  EXPECT_EQ(device->Info().sm_count, TestDevice().sm_count);
  const ReplaySpace* space = device->FindSpace("gemm", TestWorkload().sizes);
  ASSERT_NE(space, nullptr);
  ASSERT_EQ(space->space.size(), kJobs);
  for (const Point& point : space->space.points()) {
    const Job job = TestJob(point);
    EXPECT_EQ(CandidateId(*space->make(point)), CandidateId(job.candidate));
    EXPECT_EQ(Describe(device->LookUp(job.key)->verdict.outcome),
              Describe(TestVerdict(point, kBundleSide).outcome));
  }
}

TEST_F(BundleTest, GoesOnAfterAStopOrATornLine) {
  Make();
  ImageDevice device;
  int64_t done = 0;
  const auto count = [&done](const BundleProgress& progress) { done = progress.done; };
  ASSERT_TRUE(RunBundle(
                  Read(), device, [&done] { return done >= 1; }, count)
                  .ok());
  EXPECT_LT(done, kJobs);
  const std::string results = *ReadFile(Folder() / "results.jsonl");
  ASSERT_TRUE(
      WriteFileAtomic(Folder() / "results.jsonl", results.substr(0, results.size() - 9)).ok());
  const auto run = RunBundle(Read(), device, nullptr, count).value();
  EXPECT_EQ(run.done, kJobs);
  EXPECT_EQ(device.judged(), kJobs + 1);  // the torn one again
  EXPECT_EQ(TakeBundle(Folder(), *OpenStore())->imported, kJobs);
}

TEST_F(BundleTest, TakesWhatIsThere) {
  Make();
  EXPECT_EQ(TakeBundle(Folder(), *OpenStore())->without_result, kJobs);
}

TEST_F(BundleTest, RefusesForeignResults) {
  Make();
  ASSERT_TRUE(WriteFileAtomic(Folder() / "results.jsonl",
                              "{\"key\":\"foreign\",\"gpu_seconds\":0,\"verdict\":" +
                                  JsonText(ToJson(Verdict())) + "}\n")
                  .ok());
  auto store = OpenStore();
  const auto taken = TakeBundle(Folder(), *store);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(taken.error().message, HasSubstr("foreign"));
}

TEST_F(BundleTest, RefusesAResultThatIsNotWhatWasWritten) {
  Make();
  ImageDevice device;
  ASSERT_TRUE(RunBundle(Read(), device, nullptr, nullptr).ok());
  const std::string whole = *ReadFile(Folder() / "results.jsonl");
  auto store = OpenStore();
  const size_t line = whole.find('\n') + 1;
  for (size_t at = 0; at < line; at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_TRUE(WriteFileAtomic(Folder() / "results.jsonl", changed).ok());
    const auto taken = TakeBundle(Folder(), *store);
    ASSERT_FALSE(taken.ok()) << changed.substr(0, line);
    EXPECT_EQ(taken.error().code, ErrorCode::kBadInput);
  }
  // A program that wrote no digests.
  std::string old;
  for (size_t begin = 0; begin < whole.size(); begin = whole.find('\n', begin) + 1) {
    const size_t rest = whole.find("\",", begin) + 2;
    old += "{" + whole.substr(rest, whole.find('\n', begin) + 1 - rest);
  }
  ASSERT_TRUE(WriteFileAtomic(Folder() / "results.jsonl", old).ok());
  EXPECT_EQ(TakeBundle(Folder(), *store)->imported, kJobs);
}

TEST_F(BundleTest, RefusesAChangedImage) {
  Make();
  const std::string sha256 = Contents().jobs[0].artifact->image_sha256;
  ASSERT_TRUE(WriteFileAtomic(Folder() / "images" / (sha256 + ".cubin"), "other").ok());
  EXPECT_EQ(ReadBundle(Folder()).error().code, ErrorCode::kBadInput);
}

// The judge's own kernels decide what is believed of every job.
TEST_F(BundleTest, RefusesChangedKernelsOfTheJudge) {
  Make();
  EXPECT_EQ(Read().files.at("judge.cubin"), "judge");
  ASSERT_TRUE(WriteFileAtomic(Folder() / "judge.cubin", "judgf").ok());
  const auto refused = ReadBundle(Folder());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("judge.cubin"));
}

// Waited for, a pipe would never end; followed, a link would lead out.
TEST_F(BundleTest, ReadsNothingButItsFiles) {
  Make();
  auto store = OpenStore();
  ImageDevice device;
  const Bundle bundle = Read();
  const std::string image = "images/" + Contents().jobs[0].artifact->image_sha256 + ".cubin";
  for (const std::string& name : {std::string("results.jsonl"), std::string("manifest.json"),
                                  std::string("jobs.jsonl.zst"), image}) {
    const std::string before = name == "results.jsonl" ? "" : ReadFile(Folder() / name).value();
    for (const bool is_pipe : {true, false}) {
      std::filesystem::remove(Folder() / name);
      if (is_pipe) {
        ASSERT_EQ(mkfifo((Folder() / name).c_str(), 0600), 0);
      } else {
        std::filesystem::create_symlink("/dev/zero", Folder() / name);
      }
      const auto taken = TakeBundle(Folder(), *store);
      ASSERT_FALSE(taken.ok()) << name;
      EXPECT_EQ(taken.error().code, ErrorCode::kBadInput) << name;
      EXPECT_FALSE(RunBundle(bundle, device, nullptr, nullptr).ok() && name == "results.jsonl");
    }
    std::filesystem::remove(Folder() / name);
    ASSERT_TRUE(before.empty() || WriteFileAtomic(Folder() / name, before).ok());
  }
  EXPECT_TRUE(TakeBundle(Folder(), *store).ok());
}

TEST_F(BundleTest, AnImageIsNoPathThatLeadsOut) {
  const std::string secret = "outside";
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "secret.cubin", secret).ok());
  BundleContents contents = Contents();
  contents.jobs[0].artifact->image = secret;
  contents.jobs[0].artifact->image_sha256 = "../../secret";
  ASSERT_TRUE(MakeBundle(Folder(), contents).ok());
  const auto bundle = ReadBundle(Folder());
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.error().code, ErrorCode::kBadInput);
}

TEST_F(BundleTest, RefusesAKeyThatIsNotItsContents) {
  BundleContents contents = Contents();
  contents.jobs[0].key = contents.jobs[0].key.substr(1) + "0";
  ASSERT_TRUE(MakeBundle(Folder(), contents).ok());
  EXPECT_EQ(ReadBundle(Folder()).error().code, ErrorCode::kBadInput);
}

TEST_F(BundleTest, RefusesAnotherDevice) {
  Make();
  ImageDevice device;
  ASSERT_TRUE(RunBundle(
                  Read(), device, [] { return true; }, nullptr)
                  .ok());
  device.info().name = "another GPU";
  EXPECT_THAT(RunBundle(Read(), device, nullptr, nullptr).error().message,
              HasSubstr("begun on Test H200, this is another GPU"));
  device.info().architecture = "sm_80";
  EXPECT_EQ(RunBundle(Read(), device, nullptr, nullptr).error().code, ErrorCode::kConfig);
}

TEST_F(BundleTest, LeavesNothingBehindWhenItCannotBeMade) {
  BundleContents contents = Contents();
  contents.executable = "/nowhere/warpsmith";
  EXPECT_FALSE(MakeBundle(Folder(), contents).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  contents.jobs[1] = contents.jobs[0];
  EXPECT_EQ(MakeBundle(Folder(), contents).error().code, ErrorCode::kConfig);
  contents.jobs.clear();
  EXPECT_FALSE(MakeBundle(Folder(), contents).ok());
}

TEST_F(BundleTest, DoesNotOverwriteAFolder) {
  Make();
  EXPECT_EQ(MakeBundle(Folder(), Contents()).error().code, ErrorCode::kConfig);
}

}  // namespace
}  // namespace warpsmith::store
