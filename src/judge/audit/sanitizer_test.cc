// Tools that are not what they should be: shell scripts in compute-sanitizer's place.

#include "judge/audit/sanitizer.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "judge/audit/tests/fake_tool.h"
#include "judge/standalone/run_folder.h"

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

constexpr char kMemcheckText[] =
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __global__ write of size 4 bytes\n"
    "=========     at scale(float *, const float *, int)+0x4bd0 in scale.cu:12\n"
    "=========     by thread (16,0,0) in block (3,0,0)\n"
    "=========     Access at 0x7f71b9e01360 is out of bounds\n"
    "=========     and is 1 bytes after the nearest allocation at 0x7f71b9e00a00 of size 2400 "
    "bytes\n"
    "========= \n"
    "========= Invalid __global__ write of size 4 bytes\n"
    "=========     at other()+0x10\n"
    "=========     by thread (17,0,0) in block (3,0,0)\n"
    "========= Target application returned an error\n"
    "========= ERROR SUMMARY: 2 errors\n";

TEST(SanitizerText, MemcheckTellsTheFirstError) {
  const SanitizerText text = ReadSanitizerText(kMemcheckText);
  EXPECT_TRUE(text.started);
  EXPECT_EQ(text.errors, 2);
  EXPECT_TRUE(text.target_failed);
  ASSERT_TRUE(text.first.has_value());
  EXPECT_EQ(text.first->kind, "Invalid __global__ write of size 4 bytes");
  EXPECT_EQ(text.first->kernel, "scale(float *, const float *, int)+0x4bd0");
  EXPECT_EQ(text.first->place, "thread (16,0,0) in block (3,0,0)");
  EXPECT_EQ(text.first->access, "Access at 0x7f71b9e01360 is out of bounds");
  EXPECT_TRUE(text.inability.empty());
}

TEST(SanitizerText, OlderToolsPutTheKernelBehindTheAddress) {
  const SanitizerText text = ReadSanitizerText(
      "========= COMPUTE-SANITIZER\n"
      "========= Uninitialized __global__ memory read of size 4 bytes\n"
      "=========     at 0xa0a50 in scan(unsigned int *)\n"
      "=========     by thread (30,0,0) in block (1,0,0)\n"
      "=========     Address 0x7f65e5204710\n"
      "========= ERROR SUMMARY: 1 error\n");
  ASSERT_TRUE(text.first.has_value());
  EXPECT_EQ(
      Describe(*text.first),
      "Uninitialized __global__ memory read of size 4 bytes at scan(unsigned int *) by thread "
      "(30,0,0) in block (1,0,0): Address 0x7f65e5204710");
  EXPECT_EQ(text.errors, 1);
}

TEST(SanitizerText, RaceErrorsCountAndWarningsDoNot) {
  const SanitizerText text = ReadSanitizerText(
      "========= COMPUTE-SANITIZER\n"
      "========= Warning: Race reported between Read access at first()+0x260\n"
      "=========     and Write access at first()+0x200 [4 hazards]\n"
      "=========\n"
      "========= Error: Race reported between Write access at second()+0xd790\n"
      "=========     and Read access at second()+0xd5c0 [1,016 hazards]\n"
      "=========\n"
      "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n");
  ASSERT_TRUE(text.races.has_value());
  EXPECT_EQ(text.races->hazards, 2);
  EXPECT_EQ(text.races->errors, 1);
  EXPECT_EQ(text.races->warnings, 1);
  ASSERT_TRUE(text.first.has_value());
  EXPECT_EQ(text.first->kind, "Race reported between Write access at second()+0xd790");
  EXPECT_EQ(text.first->access, "and Read access at second()+0xd5c0 [1,016 hazards]");
}

TEST(SanitizerText, CleanRuns) {
  const SanitizerText memcheck =
      ReadSanitizerText("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_EQ(memcheck.errors, 0);
  EXPECT_FALSE(memcheck.first.has_value());
  const SanitizerText races = ReadSanitizerText(
      "========= COMPUTE-SANITIZER\r\n"
      "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\r\n");
  EXPECT_EQ(races.races->errors, 0);
}

// What a GPU-less machine, another driver, a missing injection library, ... give.
TEST(SanitizerText, SaysThatItCouldNotWatch) {
  for (const char* words :
       {"Error: Target application terminated before first instrumented API call",
        "Error: couldn't find exit code.",
        "Error: No attachable process found. compute-sanitizer timed-out.",
        "Detected an unsupported driver version. Please update your CUDA installation to 13.0 or "
        "newer (driver version 580 or higher)",
        "CUDA initialized before the Sanitizer. The Sanitizer will be disabled",
        "Confidential compute mode detected. compute-sanitizer will be disabled.",
        "CUDA Dynamic Parallelism is not supported by the selected tool",
        "GPU debugging features are disabled. Please consult the list of supported CUDA devices "
        "for "
        "more details.",
        "Internal Sanitizer Error: The Sanitizer encountered an error",
        "Unable to find injection library",
        "Target application doesn't exist or is not a valid executable"}) {
    const SanitizerText text =
        ReadSanitizerText("========= COMPUTE-SANITIZER\n========= " + std::string(words) +
                          "\n========= ERROR SUMMARY: 0 errors\n");
    EXPECT_EQ(text.inability, words);
    EXPECT_FALSE(text.first.has_value()) << words;
  }
}

TEST(SanitizerText, CallsOfTheHostAreNotTheKernels) {
  const SanitizerText text = ReadSanitizerText(
      "========= COMPUTE-SANITIZER\n"
      "========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to \"invalid argument\" on "
      "CUDA "
      "API call to cuFuncGetParamInfo.\n"
      "=========     Saved host backtrace up to driver entry point at error\n"
      "========= ERROR SUMMARY: 1 error\n");
  EXPECT_FALSE(text.first.has_value());
  EXPECT_TRUE(text.api_error.starts_with("Program hit CUDA_ERROR_INVALID_VALUE"));
  EXPECT_EQ(text.errors, 1);
}

TEST(SanitizerText, SeveralSummariesCountByTheLargest) {
  const SanitizerText text = ReadSanitizerText(
      "========= ERROR SUMMARY: 30,335 errors\n"
      "========= ERROR SUMMARY: 30335 errors were not printed. Use --print-limit option to adjust "
      "the number of printed errors\n");
  EXPECT_EQ(text.errors, 30335);
}

TEST(SanitizerText, WhatTheCandidatePrintsIsNotTheTools) {
  const SanitizerText text = ReadSanitizerText(
      "ERROR SUMMARY: 0 errors\n=== ERROR SUMMARY: 0 errors\nInvalid __global__ write\n");
  EXPECT_FALSE(text.started);
  EXPECT_FALSE(text.errors.has_value());
  EXPECT_FALSE(text.first.has_value());
}

TEST(SanitizerText, HugeNumbersSaturate) {
  const SanitizerText text =
      ReadSanitizerText("========= ERROR SUMMARY: 99999999999999999999999999 errors\n");
  EXPECT_EQ(text.errors, std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(ReadSanitizerText("========= ERROR SUMMARY: many errors\n").errors.has_value());
  EXPECT_FALSE(ReadSanitizerText("========= RACECHECK SUMMARY: 1 hazard\n").races.has_value());
}

RC_GTEST_PROP(SanitizerText, AnyTextIsRead, (const std::string& text)) {
  ReadSanitizerText(text);
  ReadSanitizerText("========= " + text);
}

TEST(SanitizerText, MutationsAndCutsAreRead) {
  Random random(1, "sanitizer text");
  for (int round = 0; round < 5000; ++round) {
    std::vector<char> bad(std::begin(kMemcheckText), std::end(kMemcheckText) - 1);
    for (uint64_t changes = random.Below(6); changes > 0; --changes) {
      bad[random.Below(bad.size())] = static_cast<char>(random.Bits());
    }
    bad.resize(random.Below(bad.size() + 1));
    const SanitizerText text = ReadSanitizerText({bad.data(), bad.size()});
    if (text.errors) {
      ASSERT_GE(*text.errors, 0);
    }
  }
}

TEST(SanitizerVersion, IsFoundInItsText) {
  EXPECT_EQ(ReadSanitizerVersion("NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025 NVIDIA "
                                 "Corporation\nVersion 2025.3.1.0 (build 36400806)\n"),
            "2025.3.1.0");
  EXPECT_EQ(ReadSanitizerVersion("no such option"), "");
  EXPECT_EQ(ReadSanitizerVersion("Version "), "");
}

}  // namespace

}  // namespace warpsmith::audit
