#include "hgemm/features.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {
namespace {

constexpr Target kDevice{};  // an H200

float Value(const std::vector<float>& features, std::string_view name) {
  const auto names = FeatureNames();
  const auto found = std::find(names.begin(), names.end(), name);
  CHECK(found != names.end());
  return features[static_cast<size_t>(found - names.begin())];
}

TEST(FeaturesOf, FollowFromHowTheProblemIsDivided) {
  // 8 x 16 tiles, each of two halves of K by clusters of two, on 132 SMs.
  const WgmmaParameters p{.tile_m = 128, .tile_n = 128, .stages = 4, .splits = 2};
  const auto features =
      FeaturesOf({1024, 2048, 4096, Layout::kTN}, kDevice, {"wgmma", ToConfig(p)});
  EXPECT_EQ(Value(features, "log2_m"), 10);
  EXPECT_EQ(Value(features, "log2_products"), 33);
  EXPECT_EQ(Value(features, "cluster"), 2);
  EXPECT_EQ(Value(features, "parts_of_k"), 2);
  EXPECT_EQ(Value(features, "busiest_sm_ctas"), 2);
  EXPECT_NEAR(Value(features, "idle_share"), 1 - 256.0 / 264, 1e-6);
  EXPECT_EQ(Value(features, "wasted_share"), 0);
  EXPECT_EQ(Value(features, "blocks_per_cta"), 32);
  EXPECT_EQ(Value(features, "blocks_per_stage"), 8);
  EXPECT_EQ(Value(features, "kernels"), 1);
  // Every CTA reads 256 rows of half of K; the operands are 3072 rows of all of it.
  EXPECT_NEAR(Value(features, "log2_excess_bytes"), std::log2(256 * 256 * 0.5 / 3072), 1e-5);
  EXPECT_EQ(Value(features, "splits"), 2);
  EXPECT_EQ(Value(features, "tile_m"), 128);
  EXPECT_EQ(Value(features, "warps_m"), -1);  // of another family
}

TEST(FeaturesOf, CountTilesThatReachOverTheEdge) {
  const WgmmaParameters p{.tile_m = 128, .tile_n = 128};
  const auto features = FeaturesOf({192, 128, 1024, Layout::kTN}, kDevice, {"wgmma", ToConfig(p)});
  EXPECT_NEAR(Value(features, "wasted_share"), 0.25, 1e-6);
}

TEST(FeaturesOf, AreFiniteForEveryConfiguration) {
  for (const Problem& problem : {Problem{64, 64, 64, Layout::kTN},
                                 {1000, 72, 40, Layout::kNN},
                                 {17, 33, 65, Layout::kTN},
                                 {4096, 8192, 256, Layout::kTN}}) {
    const Space space = SpaceFor(problem, kDevice);
    for (const Point& point : space.points()) {
      const auto features = FeaturesOf(problem, kDevice, point);
      ASSERT_EQ(features.size(), FeatureNames().size());
      for (const float value : features) ASSERT_TRUE(std::isfinite(value)) << PointName(point);
    }
  }
}

// What was recorded before a parameter was there is the kernel of its default.
TEST(FeaturesOf, AreTheSameWhereAParameterHasItsDefault) {
  const Problem problem{1024, 1024, 1024, Layout::kTN};
  Point point{"wgmma", ToConfig(WgmmaParameters{})};
  const auto features = FeaturesOf(problem, kDevice, point);
  point.config.erase("l2_promotion");
  EXPECT_EQ(FeaturesOf(problem, kDevice, point), features);
}

TEST(FeaturesOf, KnowsNothingOfAStrangeFamily) {
  EXPECT_TRUE(FeaturesOf({64, 64, 64, Layout::kTN}, kDevice, {"strange", {}}).empty());
}

TEST(FeatureNames, AreDistinct) {
  std::vector<std::string> names(FeatureNames().begin(), FeatureNames().end());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace warpsmith::hgemm
