#include "judge/unused_slots.h"

#include <gtest/gtest.h>

namespace warpsmith::judge {
namespace {

TEST(UnusedSlots, TheThresholdLiesBetweenCacheAndMemory) {
  const Latencies clear{{210, 250, 260, 270, 900}, {600, 650, 700, 720, 300}};
  const auto threshold = ThresholdOf(clear);
  ASSERT_TRUE(threshold.has_value());
  EXPECT_GT(*threshold, 270);
  EXPECT_LT(*threshold, 600);
  EXPECT_DOUBLE_EQ(WarmShare(clear.warm, *threshold), 0.8);
  EXPECT_DOUBLE_EQ(WarmShare(clear.cold, *threshold), 0.2);
  EXPECT_EQ(WarmShare({}, *threshold), 0);
}

TEST(UnusedSlots, TimesThatLieTogetherTellNothing) {
  EXPECT_FALSE(ThresholdOf({{}, {}}).has_value());
  EXPECT_FALSE(ThresholdOf({{500, 510}, {520, 600}}).has_value());
  EXPECT_FALSE(ThresholdOf({{200, 700, 700}, {700, 200, 900, 900}}).has_value());
}

}  // namespace
}  // namespace warpsmith::judge
