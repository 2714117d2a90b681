#include "hgemm/cost_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hgemm/mma_sync_family.h"
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

// 16 tiles of 64x64 leave most SMs idle; so do clusters of eight, which do not fill the GPCs.
TEST(PredictUs, SeesWhatSlicesOfADeepKAreWorth) {
  const Problem problem{256, 256, 16384, Layout::kTN};
  WgmmaParameters alone{.tile_m = 64, .tile_n = 64, .stages = 8, .consumers = 1, .tma_store = 0};
  WgmmaParameters sliced = alone;
  sliced.slices = 8;
  const auto us = [&](const WgmmaParameters& p) {
    return PredictUs(problem, kH200, {"wgmma", ToConfig(p)});
  };
  EXPECT_LT(2 * us(sliced), us(alone));
  sliced.slices = 32;  // too much is written and read again
  EXPECT_GT(us(sliced), 8);
}

// 18.9 us and 10.6 us on an H200.
TEST(PredictUs, CountsEveryRoundOfClustersOfSixteen) {
  const Problem problem{256, 256, 16384, Layout::kTN};
  MmaSyncParameters sixteen{.tile_m = 64, .tile_n = 64, .tile_k = 64, .warps_n = 2, .warps_k = 2};
  sixteen.stages = 5, sixteen.splits = 16, sixteen.split_cluster = 1;
  const WgmmaParameters eight{
      .tile_m = 64, .tile_n = 128, .stages = 8, .consumers = 1, .splits = 8, .tma_store = 0};
  EXPECT_GT(PredictUs(problem, kH200, {"mma_sync", ToConfig(sixteen)}),
            PredictUs(problem, kH200, {"wgmma", ToConfig(eight)}));
}

double WgmmaUs(const Problem& problem, const WgmmaParameters& p) {
  return PredictUs(problem, kH200, {"wgmma", ToConfig(p)});
}

// 43.8 us and 49.5 us on an H200.
TEST(PredictUs, KnowsThatTurnsHideStores) {
  const Problem problem{12288, 4096, 256, Layout::kTN};
  WgmmaParameters turns{.tile_m = 128, .tile_n = 192, .producer_warps = 4, .persistent = 1};
  turns.stream_c = 1;
  const double together = WgmmaUs(problem, turns);
  turns.ping_pong = 1;
  EXPECT_LT(1.05 * WgmmaUs(problem, turns), together);
}

// 5.51 us, 5.70 us through TMA, and 5.67 us with stages of twice the size.
TEST(PredictUs, PrefersStoresFromRegistersAndFineStagesInOneWave) {
  const Problem problem{1024, 1024, 1024, Layout::kTN};
  WgmmaParameters p{.tile_m = 64, .tile_n = 128, .stages = 8, .consumers = 1, .tma_store = 0};
  const double best = WgmmaUs(problem, p);
  p.tma_store = 1;
  EXPECT_LT(best, WgmmaUs(problem, p));
  p.tma_store = 0, p.tile_k = 128, p.stages = 4;
  EXPECT_LT(best, WgmmaUs(problem, p));
}

// 128 CTAs: of 48 KB each, the next launch crowds on four idle SMs (2.68 us, 3.43 us with overlap);
// of 192 KB it cannot (5.74 us, 5.38 us).
TEST(PredictUs, KnowsWhereOverlapCrowds) {
  const Problem small{1024, 256, 256, Layout::kTN}, large{1024, 1024, 1024, Layout::kTN};
  WgmmaParameters few{.tile_m = 64, .tile_n = 32, .stages = 4, .consumers = 1};
  WgmmaParameters full{.tile_m = 64, .tile_n = 128, .stages = 8, .consumers = 1};
  const double few_us = WgmmaUs(small, few), full_us = WgmmaUs(large, full);
  few.overlap = full.overlap = 1;
  EXPECT_GT(WgmmaUs(small, few), few_us);
  EXPECT_LT(WgmmaUs(large, full), full_us);
  few.overlap = 2;
  EXPECT_LT(WgmmaUs(small, few), few_us);
}

// 1418 us; 1425 us with 128x256 tiles, 1458 us of them without even rounds.
TEST(PredictUs, PrefersWhatReadsLeastWherePowerIsTheLimit) {
  const Problem problem{8192, 8192, 8192, Layout::kTN};
  WgmmaParameters p{.tile_m = 256, .tile_n = 192, .stages = 3, .producer_warps = 4};
  p.cluster_n = 2, p.persistent = 1, p.even_rounds = 1;
  const double largest = WgmmaUs(problem, p);
  p = {.tile_m = 128, .tile_n = 256, .stages = 4, .cluster_m = 2, .persistent = 1};
  const double uneven = WgmmaUs(problem, p);
  p.even_rounds = 1;
  EXPECT_LT(WgmmaUs(problem, p), uneven);
  EXPECT_LT(largest, uneven);
}

// 14.5 us; 17 us and more in clusters and splits.
TEST(PredictUs, PrefersOneWaveAloneToClusters) {
  const Problem problem{1024, 1024, 4096, Layout::kTN};
  WgmmaParameters p{.tile_m = 64, .tile_n = 128, .stages = 9, .consumers = 1, .tma_store = 0};
  const double alone = WgmmaUs(problem, p);
  p.cluster_m = 2;
  EXPECT_LT(alone, WgmmaUs(problem, p));
  p = {.stages = 7, .splits = 2, .tma_store = 0};
  EXPECT_LT(alone, WgmmaUs(problem, p));
}

TEST(PredictUs, KnowsNothingOfAStrangeFamily) {
  EXPECT_TRUE(std::isinf(PredictUs({64, 64, 64, Layout::kTN}, kH200, {"strange", {}})));
  EXPECT_EQ(ArmOf({64, 64, 64, Layout::kTN}, kH200, {"strange", {}}), "strange");
}

// So that each is tried, whatever the model thinks of it.
TEST(ArmOf, TellsWaysOfWorkingApart) {
  const Problem problem{512, 512, 4096, Layout::kTN};
  const auto arm = [&](const WgmmaParameters& p) {
    return ArmOf(problem, kH200, {"wgmma", ToConfig(p)});
  };
  const WgmmaParameters plain{.tile_m = 64, .tile_n = 64, .consumers = 1, .tma_store = 0};
  EXPECT_EQ(arm(plain), "wgmma 64x64");
  WgmmaParameters sliced = plain;
  sliced.slices = 4;
  EXPECT_EQ(arm(sliced), "wgmma 64x64 sliced");
  sliced.direct_load = 1, sliced.producer_warps = 4;
  EXPECT_EQ(arm(sliced), "wgmma 64x64 sliced direct");
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
