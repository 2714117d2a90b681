#include "judge/standalone/activity_log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

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
