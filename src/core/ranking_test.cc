#include "core/ranking.h"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

Verdict Measured(double us, double primary_us, double ratio) {
  ModeTiming timing;
  timing.mode = Mode::kDeviceHot;
  timing.candidate.median_us = us;
  ContenderTiming primary;
  primary.name = "cublaslt-auto";
  primary.median_us = primary_us;
  timing.baselines = {ContenderTiming{}, primary};
  Comparison comparison;
  comparison.baseline = primary.name;
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
