// Tools that are not what they should be: shell scripts in compute-sanitizer's place.
#include "judge/audit/sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/file.h"
#include "judge/audit/testing/fake_tool.h"
#include "judge/standalone/job.h"

namespace warpsmith::audit {
namespace {

using testing::HasSubstr;

class SanitizerTool : public testing::Test {
 protected:
  SanitizerTool() : folder_(TemporaryDirectory::Create("sanitizer").value()) {
    request_.check = kMemcheck;
    request_.dir = folder_.path();
    request_.standalone_argv = {"/bin/sh", "-c",
                                "touch " + standalone::FinishedPath(folder_.path()).string()};
    request_.wall = std::chrono::seconds(20);
  }

  // Runs a tool whose script, after writing $log's banner, is `body`; "$@" is the watched command.
  AuditFinding Run(const std::string& body) {
    const auto tool = fake::WriteFakeSanitizer(folder_.path(), body);
    const auto sanitizer = FindSanitizer(tool);
    EXPECT_TRUE(sanitizer.ok()) << sanitizer.error().Line();
    const auto finding = RunSanitizer(*sanitizer, request_);
    EXPECT_TRUE(finding.ok());
    return *finding;
  }
  std::string AbsentWords(const std::string& body) {
    const AuditFinding finding = Run(body);
    const auto* report = std::get_if<AuditReport>(&finding);
    EXPECT_TRUE(report != nullptr && report->status == AuditStatus::kAbsent);
    return report != nullptr ? report->detail : std::get<Rejected>(finding).detail;
  }

  TemporaryDirectory folder_;
  SanitizerRequest request_;
};

TEST_F(SanitizerTool, CleanRunsAreClean) {
  const AuditFinding finding = Run("\"$@\"; say 'ERROR SUMMARY: 0 errors'");
  const auto* report = std::get_if<AuditReport>(&finding);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->status, AuditStatus::kClean);
  EXPECT_EQ(report->tool, "memcheck");
  EXPECT_THAT(report->detail, HasSubstr("2025.3.1.0"));
}

TEST_F(SanitizerTool, ErrorsReject) {
  const AuditFinding finding =
      Run("say 'Invalid __global__ read of size 2 bytes'\n"
          "say '    at gemm+0x90'\n"
          "say '    by thread (1,0,0) in block (0,0,0)'\n"
          "say 'ERROR SUMMARY: 3 errors'; exit 86");
  const auto* rejected = std::get_if<Rejected>(&finding);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->rule, "memcheck");
  EXPECT_EQ(
      rejected->detail,
      "Invalid __global__ read of size 2 bytes at gemm+0x90 by thread (1,0,0) in block (0,0,0)"
      " (and 2 more)");
}

// A tool that reports success having watched nothing exists in the wild.
TEST_F(SanitizerTool, SuccessWithoutARunIsNotBelieved) {
  EXPECT_THAT(AbsentWords("say 'ERROR SUMMARY: 0 errors'"), HasSubstr("did not run to its end"));
}

TEST_F(SanitizerTool, AnEarlierRunsProofDoesNotCount) {
  ASSERT_TRUE(WriteFileAtomic(standalone::FinishedPath(folder_.path()), "").ok());
  EXPECT_THAT(AbsentWords("say 'ERROR SUMMARY: 0 errors'"), HasSubstr("did not run to its end"));
}

TEST_F(SanitizerTool, InabilityIsToldInItsWords) {
  EXPECT_THAT(AbsentWords("\"$@\"\n"
                          "say 'Confidential compute mode detected. compute-sanitizer will be "
                          "disabled.'\nsay 'ERROR SUMMARY: 0 errors'"),
              HasSubstr("Confidential compute mode"));
  EXPECT_THAT(AbsentWords("say 'Error: No attachable process found.'; exit 255"),
              HasSubstr("No attachable process"));
}

TEST_F(SanitizerTool, TheCandidatesOwnFailureIsTold) {
  EXPECT_THAT(AbsentWords("echo 'warpsmith: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY' >&2\n"
                          "say 'Target application returned an error'\n"
                          "say 'ERROR SUMMARY: 0 errors'; exit 69"),
              HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST_F(SanitizerTool, NoReportAtAllIsAbsent) {
  EXPECT_THAT(AbsentWords("rm -f \"$log\"; exit 3"), HasSubstr("did not start: status 3"));
  EXPECT_THAT(AbsentWords("\"$@\""), HasSubstr("no summary"));
  EXPECT_THAT(AbsentWords("kill -SEGV $$"), HasSubstr("signal 11"));
}

TEST_F(SanitizerTool, AHangEndsAtTheLimit) {
  request_.wall = std::chrono::milliseconds(700);
  const double begin = MonotonicSeconds();
  EXPECT_THAT(AbsentWords("sleep 100"), HasSubstr("no end within 700 ms"));
  EXPECT_LT(MonotonicSeconds() - begin, 30);
}

TEST_F(SanitizerTool, AGigabyteOfOutputIsCut) {
  EXPECT_THAT(AbsentWords("head -c 1000000000 /dev/zero; \"$@\""), HasSubstr("no summary"));
}

TEST_F(SanitizerTool, ALogWithoutEndIsReadInPart) {
  EXPECT_THAT(AbsentWords("\"$@\"; head -c 50000000 /dev/zero >>\"$log\"\n"
                          "say 'ERROR SUMMARY: 0 errors'"),
              HasSubstr("no summary"));
}

TEST_F(SanitizerTool, RaceWarningsAreToldAndPass) {
  request_.check = kRacecheck;
  const AuditFinding clean =
      Run("\"$@\"; say 'RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)'");
  ASSERT_TRUE(std::holds_alternative<AuditReport>(clean));
  EXPECT_THAT(std::get<AuditReport>(clean).detail, HasSubstr("2 warnings"));
  const AuditFinding raced =
      Run("\"$@\"; say 'Error: Race reported between Write access at k+0x10'\n"
          "say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'");
  ASSERT_TRUE(std::holds_alternative<Rejected>(raced));
  EXPECT_EQ(std::get<Rejected>(raced).rule, "racecheck");
}

TEST_F(SanitizerTool, ChecksGetTheirOwnOptions) {
  request_.check = kInitcheck;
  EXPECT_THAT(AbsentWords("say \"Error: $arguments\""), HasSubstr("--tool initcheck"));
  EXPECT_THAT(AbsentWords("say \"Error: $arguments\""), HasSubstr("--check-api-memory-access no"));
}

constexpr char kUninitialized[] =
    "\"$@\"; say 'Uninitialized __global__ memory read of size 4 bytes'\n"
    "say 'ERROR SUMMARY: 1 error'";

TEST_F(SanitizerTool, InitcheckThatIsBlindToBulkCopiesConvictsNobodyForThem) {
  request_.check = kInitcheck;
  EXPECT_TRUE(std::holds_alternative<Rejected>(Run(kUninitialized)));
  request_.copies_in_bulk = true;
  EXPECT_THAT(AbsentWords(kUninitialized), HasSubstr("cp.async.bulk"));
  SanitizerRun run;
  run.text = ReadSanitizerText(
      "========= COMPUTE-SANITIZER\n========= Uninitialized __global__ memory read of size 4 "
      "bytes\n"
      "========= ERROR SUMMARY: 1 error\n");
  for (const char* newer : {"2025.4.0.0", "2025.10", "2026.1.0"}) {
    EXPECT_TRUE(std::holds_alternative<Rejected>(JudgeSanitizerRun({"", newer}, request_, run)));
  }
}

TEST(FindSanitizer, SaysWhatToInstallWhenThereIsNone) {
  const auto missing = FindSanitizer("/nonexistent/compute-sanitizer");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(missing.error().fix, HasSubstr("install"));
  const auto other = FindSanitizer("/bin/true");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("no version"));
}

}  // namespace
}  // namespace warpsmith::audit
