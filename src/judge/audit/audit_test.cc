// The whole audit with a shell script in the sanitizer's place, and one in the stand-alone run's.

#include "judge/audit/audit.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "judge/audit/tests/fake_tool.h"

namespace warpsmith::audit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Expression E(const char* text) { return Expression::Literal(text); }

// Watched by the fake tool: does as a stand-alone run does, one file at a time.
constexpr char kStandalone[] =
    "#!/bin/sh\n"
    "if [ \"$1\" = internal-solo-confined ]; then\n"
    "  echo confined >>\"${0%/*}/ran\"; shift 4; exec \"$@\"\n"
    "fi\n"
    "dir=$1; while [ $# -gt 1 ]; do [ \"$1\" = --activity ] && file=$2; shift; done\n"
    "[ -s \"$dir/job.json\" ] && [ -e \"$dir/image\" ] || exit 65\n"
    "[ -n \"$file\" ] && cat \"${0%/*}/activity\" >\"$file\"\n"
    "touch \"$dir/finished\"\n";
constexpr char kActivityText[] =
    R"({"version":1,"tracer":"CUPTI 1","stream":7,"calls":[[100,200,300]],)"
    R"("records":[{"kind":"kernel","name":"k","stream":7,"start_ns":110,"end_ns":290}]})";
constexpr char kCleanTool[] =
    "echo $tool >>\"${0%/*}/ran\"; \"$@\"\n"
    "say 'ERROR SUMMARY: 0 errors'\n"
    "say 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'";

class WholeAudit : public ::testing::Test {
 protected:
  WholeAudit() : folder_(TemporaryDirectory::Create("audit").value()) {
    WriteStandalone(kStandalone);
    Write("activity", kActivityText);
    request_.task.name = "t";
    request_.task.tensors = {{"x", DType::kF32, Role::kInput, {E("n")}},
                             {"y", DType::kF32, Role::kOutput, {E("n")}}};
    request_.task.reference = {"cuda", {}};
    request_.task.precision = "f32";
    request_.workload = {"w", {{"n", 4}}, 1, false};
    request_.candidate.sources = {{"k.cu", "__global__ void k() {}"}};
    request_.candidate.entry = "k.cu";
    request_.artifact.image = "image";
    request_.artifact.image_sha256 = "0123";
    request_.artifact.architecture = "sm_90a";
    request_.artifact.kernels = {{"k"}};
    request_.artifact.opcodes = {{"FFMA", 7}};
    request_.standalone_argv = {(folder_.path() / "solo").string()};
    request_.sanitizer = fake::WriteFakeSanitizer(folder_.path(), kCleanTool);
    request_.cache = folder_.path() / "cache";
  }
  void Write(const char* name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(folder_.path() / name, text).ok());
  }
  void WriteStandalone(const std::string& script) {
    Write("solo", script);
    std::filesystem::permissions(folder_.path() / "solo", std::filesystem::perms::owner_all);
  }
  AuditOutcome Audit() {
    auto outcome = AuditCandidate(request_);
    EXPECT_TRUE(outcome.ok()) << outcome.error().Line();
    return std::move(outcome).value();
  }
  // "tool clean", in order.
  static std::vector<std::string> Lines(const AuditOutcome& outcome) {
    std::vector<std::string> lines;
    for (const AuditReport& report : outcome.reports) {
      lines.push_back(report.tool + (report.status == AuditStatus::kClean ? " clean" : " absent"));
    }
    return lines;
  }

  TemporaryDirectory folder_;
  AuditRequest request_;
};

TEST_F(WholeAudit, AnHonestKernelIsCleanEverywhere) {
  const AuditOutcome outcome = Audit();
  EXPECT_FALSE(outcome.rejected.has_value()) << outcome.rejected->detail;
  EXPECT_THAT(Lines(outcome),
              ElementsAre("embedded-binary clean", "opcodes clean", "memcheck clean",
                          "initcheck clean", "racecheck clean", "activity clean"));
}

TEST_F(WholeAudit, RacecheckRunsOncePerImage) {
  Audit();
  Audit();
  EXPECT_EQ(ReadFile(folder_.path() / "ran").value(),
            "memcheck\ninitcheck\nracecheck\nmemcheck\ninitcheck\n");
  request_.artifact.image_sha256 = "4567";
  Audit();
  EXPECT_THAT(ReadFile(folder_.path() / "ran").value(), ::testing::EndsWith("racecheck\n"));
}

TEST_F(WholeAudit, OneCheckAlone) {
  const auto finding = Sanitize(request_, kMemcheck);
  ASSERT_TRUE(finding.ok()) << finding.error().Line();
  EXPECT_EQ(std::get<AuditReport>(*finding).status, AuditStatus::kClean);
  EXPECT_EQ(ReadFile(folder_.path() / "ran").value(), "memcheck\n");
  request_.sanitizer = folder_.path() / "nowhere";
  const auto absent = Sanitize(request_, kRacecheck);
  ASSERT_TRUE(absent.ok());
  EXPECT_EQ(std::get<AuditReport>(*absent).status, AuditStatus::kAbsent);
}

TEST_F(WholeAudit, RacesAreRememberedToo) {
  request_.sanitizer = fake::WriteFakeSanitizer(
      folder_.path(),
      "echo $tool >>\"${0%/*}/ran\"; \"$@\"; say 'ERROR SUMMARY: 0 errors'\n"
      "[ $tool = racecheck ] && say 'Error: Race reported between Write access at k+0x10'\n"
      "say 'RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'");
  for (int round = 0; round < 2; ++round) {
    const AuditOutcome outcome = Audit();
    ASSERT_TRUE(outcome.rejected.has_value());
    EXPECT_EQ(outcome.rejected->rule, "racecheck");
  }
  EXPECT_EQ(ReadFile(folder_.path() / "ran").value(),
            "memcheck\ninitcheck\nracecheck\nmemcheck\ninitcheck\n");
}

TEST_F(WholeAudit, AbsentToolsAreNamed) {
  request_.sanitizer = "/nonexistent/compute-sanitizer";
  request_.artifact.opcodes.clear();
  Write("activity", R"({"version":1,"absent":"no CUPTI"})");
  const AuditOutcome outcome = Audit();
  EXPECT_FALSE(outcome.rejected.has_value());
  EXPECT_THAT(Lines(outcome),
              ElementsAre("embedded-binary clean", "opcodes absent", "memcheck absent",
                          "initcheck absent", "racecheck absent", "activity absent"));
  for (const AuditReport& report : outcome.reports) EXPECT_FALSE(report.detail.empty());
}

TEST_F(WholeAudit, TheFirstFindingEndsIt) {
  request_.artifact.opcodes["HMMA.16816.F16"] = 1;
  const AuditOutcome outcome = Audit();
  ASSERT_TRUE(outcome.rejected.has_value());
  EXPECT_EQ(outcome.rejected->rule, "opcodes");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ran"));
}

TEST_F(WholeAudit, ScreeningStartsNoProcess) {
  request_.level = Level::kScreened;
  request_.standalone_argv = {"/nonexistent"};
  EXPECT_THAT(Lines(Audit()), ElementsAre("embedded-binary clean", "opcodes clean"));
}

TEST_F(WholeAudit, ForeignKernelsReject) {
  Write("activity",
        R"({"version":1,"tracer":"CUPTI 1","stream":7,"calls":[[100,200,300]],)"
        R"("records":[{"kind":"kernel","name":"other","stream":7,"start_ns":110,"end_ns":290}]})");
  const AuditOutcome outcome = Audit();
  ASSERT_TRUE(outcome.rejected.has_value());
  EXPECT_EQ(outcome.rejected->rule, "activity");
}

TEST_F(WholeAudit, AProgramsImageIsReadFirst) {
  request_.candidate.form = Form::kProgram;
  const AuditOutcome outcome = Audit();
  ASSERT_TRUE(outcome.rejected.has_value());
  EXPECT_EQ(outcome.rejected->rule, "imports");
}

TEST_F(WholeAudit, ProgramsRunConfined) {
  request_.candidate.form = Form::kProgram;
  const auto code = folder_.path() / "p.cc", library = folder_.path() / "p.so";
  Write("p.cc", "extern \"C\" void warpsmith_call(void* const*) {}");
  const auto built = RunProcess({"c++", "-shared", "-fPIC", "-o", library.string(), code.string()},
                                ProcessLimits{});
  ASSERT_TRUE(built.ok() && built->exit_status == 0);
  request_.artifact.image = ReadFile(library).value();
  const AuditOutcome outcome = Audit();
  EXPECT_FALSE(outcome.rejected.has_value()) << outcome.rejected->detail;
  EXPECT_EQ(outcome.reports.size(), 7U);
  EXPECT_EQ(ReadFile(folder_.path() / "ran").value(),
            "confined\nmemcheck\nconfined\ninitcheck\nconfined\nracecheck\nconfined\n");
  request_.sandboxed = false;
  Audit();
  EXPECT_THAT(ReadFile(folder_.path() / "ran").value(), ::testing::EndsWith("initcheck\n"));
}

TEST_F(WholeAudit, ACandidateThatDoesNotRunIsToldAsAbsent) {
  WriteStandalone("#!/bin/sh\necho 'warpsmith: out of memory' >&2; exit 69\n");
  const AuditOutcome outcome = Audit();
  EXPECT_FALSE(outcome.rejected.has_value());
  ASSERT_EQ(outcome.reports.size(), 6U);
  EXPECT_THAT(outcome.reports[2].detail, HasSubstr("out of memory"));
  EXPECT_THAT(outcome.reports[5].detail, HasSubstr("out of memory"));
}

TEST_F(WholeAudit, RawInputsAreHandedOn) {
  request_.inputs = folder_.path() / "raw";
  std::filesystem::create_directories(request_.inputs);
  ASSERT_TRUE(WriteFileAtomic(request_.inputs / "x", "raw bytes").ok());
  WriteStandalone(std::string(kStandalone) + "cat \"$dir/inputs/x\" >\"${0%/*}/seen\"\n");
  Audit();
  EXPECT_EQ(ReadFile(folder_.path() / "seen").value(), "raw bytes");
  EXPECT_TRUE(std::filesystem::exists(request_.inputs / "x"));  // the link went, not what it names
}

TEST_F(WholeAudit, WhatIsNoFileInAReportsPlaceRejectsAndIsNotWaitedFor) {
  WriteStandalone(std::string(kStandalone) +
                  "[ -n \"$file\" ] && rm \"$file\" && mkfifo \"$file\"\n");
  const AuditOutcome piped = Audit();
  ASSERT_TRUE(piped.rejected.has_value());
  EXPECT_EQ(piped.rejected->rule, "activity");
  request_.sanitizer =
      fake::WriteFakeSanitizer(folder_.path(), "\"$@\"; rm \"$log\"; ln -s /etc/passwd \"$log\"");
  const AuditOutcome linked = Audit();
  ASSERT_TRUE(linked.rejected.has_value());
  EXPECT_EQ(linked.rejected->rule, "memcheck");
}

TEST_F(WholeAudit, WhatOneRunLeavesTheNextDoesNotFind) {
  WriteStandalone(std::string(kStandalone) +
                  "[ -e \"$dir/left\" ] || [ \"$(cat \"$dir/image\")\" != image ] || "
                  "[ -e \"$dir/inputs\" ] && echo found >>\"${0%/*}/found\"\n"
                  "touch \"$dir/left\"; echo other >\"$dir/image\"; ln -s /etc \"$dir/inputs\"\n");
  EXPECT_EQ(Audit().reports.size(), 6U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "found"));
}

TEST(CopiesInBulk, GoesByOpcodesAndElseBySources) {
  Candidate candidate;
  Artifact artifact;
  EXPECT_FALSE(CopiesInBulk(candidate, artifact));
  candidate.sources = {{"a", "cp.reduce.async.bulk.tensor.2d"}};
  EXPECT_TRUE(CopiesInBulk(candidate, artifact));
  artifact.opcodes = {{"FFMA", 1}};
  EXPECT_FALSE(CopiesInBulk(candidate, artifact));
  artifact.opcodes["UTMASTG.2D"] = 1;
  EXPECT_TRUE(CopiesInBulk(candidate, artifact));
}

TEST(FindingCache, KeepsCleanAndRejectedFindings) {
  const auto folder = TemporaryDirectory::Create("findings").value();
  const auto& cache = folder.path();
  const std::string clean = FindingKey({"racecheck", "1"}), raced = FindingKey({"racecheck", "2"});
  EXPECT_FALSE(FindFinding(cache, clean).has_value());
  ASSERT_TRUE(StoreFinding(cache, clean, Clean(kRacecheck, "no error")).ok());
  ASSERT_TRUE(StoreFinding(cache, raced, Violated(kRacecheck, "Race \xff reported")).ok());
  const auto found = FindFinding(cache, clean), rejected = FindFinding(cache, raced);
  ASSERT_TRUE(found && rejected);
  EXPECT_EQ(std::get<AuditReport>(*found).detail, "no error");
  EXPECT_EQ(std::get<AuditReport>(*found).status, AuditStatus::kClean);
  EXPECT_EQ(std::get<Rejected>(*rejected).rule, "racecheck");
}

TEST(FindingCache, AbsenceIsAskedForAgain) {
  const auto folder = TemporaryDirectory::Create("findings").value();
  const auto& cache = folder.path();
  const std::string key = FindingKey({"a"});
  ASSERT_TRUE(StoreFinding(cache, key, Absent(kRacecheck, "no tool")).ok());
  EXPECT_FALSE(FindFinding(cache, key).has_value());
}

TEST(FindingCache, DamagedAndForeignEntriesAreNotThere) {
  const auto folder = TemporaryDirectory::Create("findings").value();
  const auto& cache = folder.path();
  const std::string key = FindingKey({"a"}), other = FindingKey({"b"});
  ASSERT_TRUE(StoreFinding(cache, key, Clean(kRacecheck, "")).ok());
  const auto path = EntryPath(cache, key);
  const auto foreign = EntryPath(cache, other);
  std::filesystem::create_directories(foreign.parent_path());
  std::filesystem::copy_file(path, foreign);
  EXPECT_FALSE(FindFinding(cache, other).has_value());
  ASSERT_TRUE(WriteFileAtomic(path, "{\"version\":1").ok());
  EXPECT_FALSE(FindFinding(cache, key).has_value());
}

TEST(FindingCache, KeysDependOnEveryPart) {
  EXPECT_NE(FindingKey({"a", "b"}), FindingKey({"ab"}));
  EXPECT_NE(FindingKey({"a", "b"}), FindingKey({"b", "a"}));
}

using standalone::ActivityKind;
using standalone::ActivityLog;
using testing::HasSubstr;

constexpr int64_t kUs = 1000;

// Two calls of 1 ms, each a fill and a kernel on stream 7.
ActivityLog Log() {
  ActivityLog log;
  log.tracer = "CUPTI 130001";
  log.stream = 7;
  for (const int64_t begin : {10'000 * kUs, 20'000 * kUs}) {
    log.calls.push_back({begin, begin + 100 * kUs, begin + 1000 * kUs});
    log.records.push_back({ActivityKind::kFill, "", 7, begin + 50 * kUs, begin + 60 * kUs, 4096});
    log.records.push_back(
        {ActivityKind::kKernel, "_Z5scalePf", 7, begin + 70 * kUs, begin + 970 * kUs});
  }
  return log;
}

ActivitySubject Program() { return {Form::kProgram, {"_Z5scalePf"}, {}}; }

std::string RejectedFor(const ActivityLog& log, const ActivitySubject& subject = Program()) {
  const AuditFinding finding = JudgeActivity(log, subject);
  const auto* rejected = std::get_if<Rejected>(&finding);
  return rejected != nullptr ? rejected->detail : "";
}

ActivityLog WithRecord(standalone::ActivityRecord record) {
  ActivityLog log = Log();
  log.records.push_back(std::move(record));
  return log;
}

TEST(JudgeActivity, HonestCallsAreClean) {
  const AuditFinding finding = JudgeActivity(Log(), Program());
  const auto* report = std::get_if<AuditReport>(&finding);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->status, AuditStatus::kClean);
  EXPECT_EQ(
      report->detail,
      "CUPTI 130001: 2 kernels, 0 copies, 2 fills in 2 calls, busy 910 of 1000 us a call (the "
      "program's own process says so)");
}

TEST(JudgeActivity, LibraryKernelsNeedTheTasksLeave) {
  const ActivityLog log =
      WithRecord({ActivityKind::kKernel, "nvjet_hsh_128x256", 7, 10'100 * kUs, 10'200 * kUs});
  EXPECT_THAT(RejectedFor(log), HasSubstr("of cublas"));
  EXPECT_EQ(RejectedFor(log, {Form::kProgram, {"_Z5scalePf"}, {"cublas"}}), "");
  EXPECT_THAT(RejectedFor(log, {Form::kProgram, {}, {"cudnn"}}), HasSubstr("of cublas"));
}

TEST(JudgeActivity, KernelsThatAreNotItsOwnAreRejected) {
  const ActivityLog log =
      WithRecord({ActivityKind::kKernel, "_Z6hiddenPf", 7, 10'100 * kUs, 10'200 * kUs});
  EXPECT_THAT(RejectedFor(log), HasSubstr("'hidden(float*)' is not one of its own"));
  EXPECT_EQ(RejectedFor(log, {Form::kProgram, {}, {}}), "");  // not known which are
}

// Its own kernel may be called what it likes.
TEST(JudgeActivity, OwnKernelsAreNotTakenForALibrarys) {
  ActivityLog log = Log();
  for (auto& record : log.records) {
    if (record.kind == ActivityKind::kKernel) record.name = "ampere_sgemm_of_mine";
  }
  EXPECT_EQ(RejectedFor(log, {Form::kProgram, {"ampere_sgemm_of_mine"}, {}}), "");
}

TEST(JudgeActivity, WorkAfterACallIsRejected) {
  EXPECT_THAT(
      RejectedFor(WithRecord({ActivityKind::kKernel, "_Z5scalePf", 7, 15'000 * kUs, 15'100 * kUs})),
      HasSubstr("'scale(float*)' began after a call was over"));
  EXPECT_THAT(RejectedFor(WithRecord({ActivityKind::kCopy, "", 9, 30'000 * kUs, 30'001 * kUs, 64})),
              HasSubstr("a copy of 64 bytes began after"));
  EXPECT_EQ(RejectedFor(WithRecord({ActivityKind::kCopy, "", 7, 1 * kUs, 2 * kUs, 64})), "");
}

TEST(JudgeActivity, AStreamThatNobodyWaitsForIsRejected) {
  const standalone::ActivityRecord side = {ActivityKind::kKernel, "_Z5scalePf", 13, 10'200 * kUs,
                                           10'999 * kUs};
  EXPECT_THAT(RejectedFor(WithRecord(side)), HasSubstr("on stream 13 outlasts the call's stream"));
  ActivityLog joined = WithRecord(side);
  joined.records.push_back({ActivityKind::kJoin, "", 7, 10'090 * kUs, 10'090 * kUs});
  EXPECT_EQ(RejectedFor(joined), "");
  ActivityLog waited = WithRecord(side);
  waited.calls[0].returned_ns = 11'000 * kUs;  // it synchronised before it returned
  EXPECT_EQ(RejectedFor(waited), "");
  ActivityLog unknown = WithRecord(side);
  unknown.stream = 0;
  EXPECT_EQ(RejectedFor(unknown), "");
}

TEST(JudgeActivity, WithoutRecordsItIsAbsent) {
  ActivityLog log;
  log.absent = "no CUPTI";
  ActivityLog silent = Log();
  silent.records.clear();
  for (const ActivityLog& empty : {log, ActivityLog(), silent}) {
    const AuditFinding finding = JudgeActivity(empty, Program());
    ASSERT_TRUE(std::holds_alternative<AuditReport>(finding));
    EXPECT_EQ(std::get<AuditReport>(finding).status, AuditStatus::kAbsent);
  }
}

TEST(TimesPerCall, CountsOverlapOnce) {
  ActivityLog log = Log();
  log.records.insert(log.records.begin() + 2,
                     {ActivityKind::kKernel, "_Z5scalePf", 13, 10'100 * kUs, 10'990 * kUs});
  const auto times = TimesPerCall(log);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->busy_us, (930 + 910) / 2.0);
  EXPECT_DOUBLE_EQ(times->wall_us, 1000);
  EXPECT_FALSE(TimesPerCall(ActivityLog()).has_value());
}

}  // namespace

}  // namespace warpsmith::audit
