#include "hgemm/cost_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {
namespace {

constexpr Target kH200{};

double BestPrediction(const Problem& problem, std::string_view family = "") {
  const Space space = SpaceFor(problem, kH200);
  double best = HUGE_VAL;
  for (const Point& point : space.points()) {
    if (family.empty() || point.family == family) {
      best = std::min(best, PredictUs(problem, kH200, point));
    }
  }
  return best;
}

TEST(PredictUs, IsPositiveAndFiniteForEveryConfiguration) {
  for (const Problem& problem : {Problem{64, 64, 64, Layout::kTN},
                                 {1000, 72, 40, Layout::kNN},
                                 {512, 512, 512, Layout::kNN},
                                 {17, 33, 65, Layout::kTN},
                                 {4096, 4096, 4096, Layout::kTN}}) {
    const Space space = SpaceFor(problem, kH200);
    ASSERT_GT(space.size(), 0U);
    for (const Point& point : space.points()) {
      const double us = PredictUs(problem, kH200, point);
      ASSERT_TRUE(us > 0.5 && us < 1e6) << PointName(point) << ": " << us;
    }
  }
}

// Within a factor of two of what good kernels are known to take.
TEST(PredictUs, HasTheRightMagnitude) {
  const auto near = [](double known_us) {
    return testing::AllOf(testing::Gt(known_us / 2), testing::Lt(known_us * 2));
  };
  EXPECT_THAT(BestPrediction({64, 64, 64, Layout::kTN}), near(1.4));
  EXPECT_THAT(BestPrediction({512, 512, 512, Layout::kTN}), near(3));
  EXPECT_THAT(BestPrediction({1024, 1024, 1024, Layout::kTN}), near(7));
  EXPECT_THAT(BestPrediction({4096, 4096, 4096, Layout::kTN}), near(200));
  EXPECT_THAT(BestPrediction({8192, 8192, 8192, Layout::kTN}), near(1600));
}

TEST(PredictUs, PrefersTheFamilyMadeForTheSize) {
  const Problem tiny{64, 64, 64, Layout::kTN}, large{4096, 4096, 4096, Layout::kTN};
  EXPECT_LT(BestPrediction(tiny, "tiny"), BestPrediction(tiny, "wgmma"));
  EXPECT_LT(BestPrediction(large, "wgmma"), BestPrediction(large, "mma_sync"));
}

// 128 CTAs take one round alone and two in clusters of four, which leave parts of GPCs idle: 5.5 us
// against 10 us on an H200.
TEST(PredictUs, KnowsThatLargeClustersLeaveSmsIdle) {
  const Problem problem{1024, 1024, 1024, Layout::kTN};
  WgmmaParameters alone{.tile_m = 64, .tile_n = 128, .tile_k = 128, .stages = 4, .consumers = 1};
  WgmmaParameters clusters = alone;
  clusters.cluster_m = clusters.cluster_n = 2;
  EXPECT_GT(PredictUs(problem, kH200, {"wgmma", ToConfig(clusters)}),
            1.2 * PredictUs(problem, kH200, {"wgmma", ToConfig(alone)}));
}

TEST(PredictUs, KnowsNothingOfAStrangeFamily) {
  EXPECT_TRUE(std::isinf(PredictUs({64, 64, 64, Layout::kTN}, kH200, {"strange", {}})));
  EXPECT_EQ(ArmOf({64, 64, 64, Layout::kTN}, kH200, {"strange", {}}), "strange");
}

TEST(ArmOf, GroupsASpaceIntoFewArms) {
  const Problem problem{4096, 4096, 4096, Layout::kTN};
  const Space space = SpaceFor(problem, kH200);
  std::set<std::string> arms;
  for (const Point& point : space.points()) arms.insert(ArmOf(problem, kH200, point));
  EXPECT_GT(arms.size(), 5U);
  EXPECT_LT(arms.size() * 4, space.size());
}

}  // namespace
}  // namespace warpsmith::hgemm
