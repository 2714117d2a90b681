#include "judge/standalone/job.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "core/tests/gemm_example.h"

namespace warpsmith::standalone {
namespace {

class StandaloneJobFolder : public testing::Test {
 protected:
  StandaloneJobFolder() : folder_(TemporaryDirectory::Create("solo-job").value()) {
    job_ = {GemmTask(), {}, GemmCandidate(), "sm_90a"};
    job_.workload = job_.task.workloads.at(0);
  }
  TemporaryDirectory folder_;
  StandaloneJob job_;
};

TEST_F(StandaloneJobFolder, IsReadAsItWasWritten) {
  ASSERT_TRUE(WriteStandaloneJob(folder_.path() / "run", job_, "image bytes").ok());
  const auto read = ReadStandaloneJob(folder_.path() / "run");
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(CandidateId(read->candidate), CandidateId(job_.candidate));
  EXPECT_EQ(read->workload.sizes, job_.workload.sizes);
  EXPECT_EQ(read->task.tensors.size(), 3U);
  EXPECT_EQ(read->architecture, "sm_90a");
  EXPECT_EQ(ReadFile(ImagePath(folder_.path() / "run")).value(), "image bytes");
}

// The process that reads the folder may be hostile.
TEST_F(StandaloneJobFolder, HoldsNothingThatTheCandidateNeedNotSee) {
  job_.task.reference.sources = {{"reference.cu", "the answer"}};
  job_.task.rivals = {{"rival", GemmCandidate()}};
  job_.task.workloads.push_back({"hidden", {{"M", 77}, {"N", 88}, {"K", 99}}, 1, true});
  ASSERT_TRUE(WriteStandaloneJob(folder_.path(), job_, "").ok());
  const std::string text = ReadFile(folder_.path() / "job.json").value();
  EXPECT_EQ(text.find("the answer"), std::string::npos);
  EXPECT_EQ(text.find("rival"), std::string::npos);
  EXPECT_EQ(text.find("hidden"), std::string::npos);
}

TEST_F(StandaloneJobFolder, NamesThatLeaveItAreRefused) {
  for (const char* name : {"../A", "/etc/passwd", "a/b", ".hidden", ""}) {
    job_.task.tensors[0].name = name;
    const Status written = WriteStandaloneJob(folder_.path(), job_, "");
    ASSERT_FALSE(written.ok()) << name;
    EXPECT_EQ(written.error().code, ErrorCode::kBadInput);
  }
}

TEST_F(StandaloneJobFolder, MissingAndMalformedFilesAreErrors) {
  EXPECT_EQ(ReadStandaloneJob(folder_.path()).error().code, ErrorCode::kNoInput);
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "job.json", "{\"version\":2}").ok());
  EXPECT_EQ(ReadStandaloneJob(folder_.path()).error().code, ErrorCode::kVersion);
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "job.json", "{\"version\":1}").ok());
  EXPECT_EQ(ReadStandaloneJob(folder_.path()).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace warpsmith::standalone
