#include "search/call_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace warpsmith::search {
namespace {

TEST(CallTime, EndsAfterMaxSecondsAndWithoutThemNever) {
  PaceOptions pace;
  const CallTime unlimited(pace);
  EXPECT_TRUE(std::isinf(unlimited.Left()));
  EXPECT_FALSE(unlimited.IsLate());
  pace.max_seconds = 3600;
  const CallTime hour(pace);
  EXPECT_LE(hour.Left(), 3600);
  EXPECT_GT(hour.Left(), 3000);
  EXPECT_FALSE(hour.IsOver());
  pace.max_seconds = 1e-9;
  const CallTime moment(pace);
  while (!moment.IsLate()) {
  }
  EXPECT_LT(moment.Left(), 0);
  EXPECT_TRUE(moment.IsOver());
}

}  // namespace
}  // namespace warpsmith::search
