#include "report/analysis/rank_correlation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace warpsmith::analysis {
namespace {

const std::vector<double> kRising = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(RankCorrelation, IsOneForAnythingThatRisesWithIt) {
  EXPECT_DOUBLE_EQ(
      RankCorrelation(kRising, std::vector<double>{1, 4, 9, 16, 25, 36, 49, 1e9}).value_or(0), 1);
  EXPECT_DOUBLE_EQ(
      RankCorrelation(kRising, std::vector<double>{8, 7, 6, 5, 4, 3, 2, 1}).value_or(0), -1);
}

TEST(RankCorrelation, TiesShareTheirRanksMean) {
  // Ranks 0.5 0.5 2.5 2.5 4.5 4.5 6.5 6.5: the covariance is 40, the variances 42 and 40.
  EXPECT_NEAR(RankCorrelation(kRising, std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}).value_or(0),
              40 / std::sqrt(42.0 * 40.0), 1e-12);
}

TEST(RankCorrelation, SaysNothingOfTooFewOrOfWhatNeverChanges) {
  EXPECT_FALSE(RankCorrelation(std::vector<double>{1, 2, 3}, std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(RankCorrelation(kRising, std::vector<double>(8, 4.0)));
  EXPECT_FALSE(RankCorrelation({}, {}));
}

// The bound holds for values that were shuffled, with ties on one side as a grid of shapes has
// them.
TEST(ChanceCorrelation, IsRarelyReachedByChance) {
  std::mt19937 generator(1);
  for (const int pairs : {12, 60}) {
    int beyond = 0;
    constexpr int kDraws = 10'000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> xs(pairs), ys(pairs);
      for (int i = 0; i < pairs; ++i) {
        xs[i] = i % 4;
        ys[i] = i;
      }
      std::shuffle(ys.begin(), ys.end(), generator);
      beyond += std::abs(*RankCorrelation(xs, ys)) > ChanceCorrelation(pairs) ? 1 : 0;
    }
    EXPECT_LT(beyond, kDraws / 400) << pairs;
  }
  EXPECT_GT(ChanceCorrelation(8), 1);  // so few never say anything
  EXPECT_LT(ChanceCorrelation(1000), 0.1);
}

}  // namespace
}  // namespace warpsmith::analysis
