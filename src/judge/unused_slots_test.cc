#include "judge/unused_slots.h"

#include <gtest/gtest.h>

namespace warpsmith::judge {
namespace {

TEST(UnusedSlots, TheThresholdLiesBetweenCacheAndMemory) {
  const std::vector<uint32_t> warm = {210, 250, 260, 270, 900}, cold = {600, 650, 700, 720, 300};
  const auto threshold = ThresholdOf(warm, cold);
  ASSERT_TRUE(threshold.has_value());
  EXPECT_GT(*threshold, 270);
  EXPECT_LT(*threshold, 600);
  EXPECT_DOUBLE_EQ(WarmShare(warm, *threshold), 0.8);
  EXPECT_DOUBLE_EQ(WarmShare(cold, *threshold), 0.2);
  EXPECT_EQ(WarmShare({}, *threshold), 0);
}

TEST(UnusedSlots, TimesThatLieTogetherTellNothing) {
  EXPECT_FALSE(ThresholdOf({}, {}).has_value());
  EXPECT_FALSE(ThresholdOf({500, 510}, {520, 600}).has_value());
  EXPECT_FALSE(ThresholdOf({200, 700, 700}, {700, 200, 900, 900}).has_value());
}

}  // namespace
}  // namespace warpsmith::judge
