#include "base/clock.h"

#include <gmock/gmock.h>

namespace warpsmith {
namespace {

TEST(Clock, MonotonicNeverGoesBack) {
  int64_t last = MonotonicNs();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = MonotonicNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, TimestampIsIso8601Utc) {
  EXPECT_THAT(UtcTimestamp(), ::testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]T"
                                                      "[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"));
}

}  // namespace
}  // namespace warpsmith
