#include "judge/audit/activity.h"

#include <gmock/gmock.h>

namespace warpsmith::audit {
namespace {

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
