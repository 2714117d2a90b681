#include "judge/oracle_cost.h"

#include <gtest/gtest.h>

namespace warpsmith::judge {
namespace {

TEST(WithoutOracle, TakesEveryLookAndTheLastReadingOffTheCalls) {
  EXPECT_DOUBLE_EQ(WithoutOracle(100, {3, 10}, {50, 200}), 100 - (3 * 50 + 200) / 10.0);
}

TEST(WithoutOracle, LeavesATimeAloneWhereNothingIsKnown) {
  EXPECT_DOUBLE_EQ(WithoutOracle(100, {3, 10}, {}), 100);
  EXPECT_DOUBLE_EQ(WithoutOracle(100, {}, {50, 200}), 100);
}

TEST(WithoutOracle, NeverTakesAllOfIt) {
  EXPECT_DOUBLE_EQ(WithoutOracle(100, {100, 10}, {50, 200}), 5);
}

}  // namespace
}  // namespace warpsmith::judge
