#include "judge/burst_run.h"

#include <gtest/gtest.h>

namespace warpsmith::judge {
namespace {

constexpr OracleCost kCost{50, 20, 30};

TEST(NetUs, TakesEveryLookEverySlotAndEveryMoveOffTheCalls) {
  EXPECT_DOUBLE_EQ(NetUs(100, {3, 2, 4, 10}, kCost, 0), 100 - (3 * 50 + 2 * 20 + 4 * 30) / 10.0);
  EXPECT_DOUBLE_EQ(OracleShare(100, {3, 2, 4, 10}, kCost), 0.31);
}

TEST(NetUs, LeavesATimeAloneWhereNothingIsKnown) {
  EXPECT_DOUBLE_EQ(NetUs(100, {3, 2, 0, 10}, {}, 0), 100);
  EXPECT_DOUBLE_EQ(NetUs(100, {}, kCost, 0), 100);
}

TEST(NetUs, NeverTakesAllOfIt) { EXPECT_NEAR(NetUs(100, {100, 2, 0, 10}, kCost, 0), 5, 1e-9); }

TEST(NetUs, TakesTheHandOverOffWhatIsLeftAndAtMostHalf) {
  EXPECT_DOUBLE_EQ(NetUs(100, {3, 2, 0, 10}, kCost, 30), 81 - 30);
  EXPECT_DOUBLE_EQ(NetUs(100, {3, 2, 0, 10}, kCost, 90), 81 / 2.0);
}

TEST(LowerCost, IsTheSmallerOfEachPart) {
  const OracleCost least = LowerCost({5, 20, 3}, {7, 10, 2});
  EXPECT_DOUBLE_EQ(least.look_us, 5);
  EXPECT_DOUBLE_EQ(least.slot_us, 10);
  EXPECT_DOUBLE_EQ(least.move_us, 2);
}

}  // namespace
}  // namespace warpsmith::judge
