#include "judge/standalone/activity_log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "cuda/cupti.h"

namespace warpsmith::standalone {
namespace {

ActivityLog Log() {
  ActivityLog log;
  log.tracer = "CUPTI 130001";
  log.stream = 7;
  log.calls = {{100, 180, 200}, {300, 310, 400}};
  log.records = {{ActivityKind::kFill, "", 7, 110, 111, 4096, false},
                 {ActivityKind::kKernel, "gemm(\"\\x)", 7, 120, 170, 0, true}};
  return log;
}

TEST(ActivityLog, IsReadAsItWasWritten) {
  const std::string text = ActivityLogToText(Log());
  const auto read = ActivityLogFromText("log", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ActivityLogToText(*read), text);
  EXPECT_EQ(read->records[1].name, "gemm(\"\\x)");
  EXPECT_EQ(read->records[0].bytes, 4096);
  EXPECT_EQ(read->calls[1].idle_ns, 400);
}

// A join that is left out makes the audit reject a program whose side stream is waited for.
TEST(ActivityLog, HoldsKernelsTransfersAndJoinsInOrderOfStart) {
  cuda::ActivityRecords seen;
  seen.kernels.resize(2);
  seen.kernels[0].stream = 7, seen.kernels[0].start_ns = 100, seen.kernels[0].end_ns = 150;
  seen.kernels[1].stream = 13, seen.kernels[1].start_ns = 120, seen.kernels[1].end_ns = 900;
  seen.transfers = {{cuda::TransferRecord::Kind::kFill, 7, 90, 95, 64, 1}};
  seen.joins = {{7, 130}};
  const std::vector<ActivityRecord> records = RecordsOf(std::move(seen));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].kind, ActivityKind::kFill);
  EXPECT_TRUE(records[0].in_graph);
  EXPECT_EQ(records[2].end_ns, 900);
  EXPECT_EQ(records[3].kind, ActivityKind::kJoin);
  EXPECT_EQ(records[3].stream, 7u);
  EXPECT_EQ(records[3].start_ns, 130);
}

TEST(ActivityLog, AbsenceHasAReason) {
  ActivityLog log;
  log.absent = "no CUPTI";
  const auto read = ActivityLogFromText("log", ActivityLogToText(log));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->absent, "no CUPTI");
  EXPECT_FALSE(ActivityLogFromText("log", R"({"version":1,"absent":""})").ok());
}

TEST(ActivityLog, TimesThatRunBackwardsAreRefused) {
  EXPECT_FALSE(ActivityLogFromText(
                   "log", R"({"version":1,"tracer":"","stream":7,"calls":[[5,4,6]],"records":[]})")
                   .ok());
  EXPECT_FALSE(
      ActivityLogFromText("log", R"({"version":1,"tracer":"","stream":7,"calls":[],"records":
          [{"kind":"kernel","stream":1,"start_ns":9,"end_ns":8}]})")
          .ok());
}

RC_GTEST_PROP(ActivityLog, AnyTextIsReadOrRefused, (const std::string& text)) {
  static_cast<void>(ActivityLogFromText("log", text));
}

TEST(ActivityLog, MutationsAreReadOrRefused) {
  const std::string good = ActivityLogToText(Log());
  Random random(1, "activity mutations");
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) {
      bad[random.Below(bad.size())] = static_cast<char>(32 + random.Below(95));
    }
    refused += ActivityLogFromText("log", bad).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace warpsmith::standalone
