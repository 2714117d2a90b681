#include "core/ranking.h"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

Verdict Measured(double us, double bar_us, double ratio) {
  ModeTiming timing;
  timing.mode = Mode::kDeviceHot;
  timing.candidate.median_us = us;
  ContenderTiming bar;
  bar.name = "cublaslt-auto";
  bar.median_us = bar_us;
  timing.baselines = {ContenderTiming{}, bar};
  Comparison comparison;
  comparison.baseline = bar.name;
  comparison.ratio = ratio;
  timing.comparisons = {comparison};
  Passed passed;
  passed.timings = {{"", {timing}}};
  return {passed, {}};
}

TEST(RankingRatio, IsNotMovedByOneDisturbedRoundOfTheBar) {
  EXPECT_DOUBLE_EQ(*RankingRatio(Measured(75, 50, 1.05), Mode::kDeviceHot), 50.0 / 75);
  EXPECT_DOUBLE_EQ(*RankingRatio(Measured(50, 51, 1.01), Mode::kDeviceHot), 1.01);
  EXPECT_DOUBLE_EQ(*RankingRatio(Measured(0, 51, 1.01), Mode::kDeviceHot), 1.01);
}

TEST(RankingRatio, NeedsAComparison) {
  EXPECT_FALSE(RankingRatio({Inconclusive{}, {}}, Mode::kDeviceHot).has_value());
}

}  // namespace
}  // namespace warpsmith
