#include "hgemm/wgmma_family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>

namespace warpsmith::hgemm {
namespace {

const Problem kSquare = {4096, 4096, 4096, Layout::kTN};

WgmmaParameters Large() {
  return {.tile_m = 128, .tile_n = 256, .tile_k = 64, .stages = 4, .consumers = 2, .persistent = 1};
}

Sizes SizesOf(const Problem& problem, int64_t max_active_clusters) {
  return {{"M", problem.m},
          {"N", problem.n},
          {"K", problem.k},
          {"sm_count", 132},
          {"max_active_clusters", max_active_clusters}};
}

int64_t Value(const Expression& expression, const Sizes& sizes) {
  const Result<int64_t> value = expression.Evaluate(sizes);
  EXPECT_TRUE(value.ok()) << expression.text();
  return value.ok() ? *value : -1;
}

LaunchOperation LaunchOf(const Problem& problem, const WgmmaParameters& p) {
  const Candidate candidate = MakeWgmma(problem, ToConfig(p));
  return std::get<LaunchOperation>(candidate.plan.operations.at(0));
}

TEST(WgmmaFamily, ConfigRoundTrips) {
  EXPECT_EQ(WgmmaFromConfig(ToConfig(Large())), Large());
  EXPECT_EQ(ToConfig(Large()).size(), 16u);
}

TEST(WgmmaFamily, SharedMemoryOfTheLargeTileIsRingStagingAndBarriers) {
  // 4 stages of 48 KiB, 2 panels of 8 KiB for each of 2 warpgroups, 8 barriers.
  EXPECT_EQ(WgmmaSharedBytes(Large()), 4 * 49152 + 2 * 2 * 8192 + 64);
  EXPECT_EQ(WgmmaThreads(Large()), 288);
}

TEST(WgmmaFamily, OnlySm90HasIt) {
  EXPECT_TRUE(IsLegalWgmma(kSquare, {}, Large()));
  EXPECT_FALSE(IsLegalWgmma(kSquare, {.compute_capability = 80}, Large()));
  EXPECT_FALSE(IsLegalWgmma(kSquare, {.compute_capability = 100}, Large()));
  EXPECT_TRUE(WgmmaConfigs(kSquare, {.compute_capability = 89}).empty());
}

TEST(WgmmaFamily, StridesMustBeMultiplesOf16Bytes) {
  WgmmaParameters direct = Large();
  direct.tma_store = 0;
  EXPECT_FALSE(IsLegalWgmma({4096, 4096, 4100, Layout::kTN}, {}, Large()));
  EXPECT_FALSE(IsLegalWgmma({4096, 4099, 4096, Layout::kTN}, {}, Large()));
  EXPECT_TRUE(IsLegalWgmma({4097, 4099, 4096, Layout::kTN}, {}, direct));
  EXPECT_FALSE(IsLegalWgmma({4096, 4099, 4096, Layout::kNN}, {}, direct));
}

TEST(WgmmaFamily, RowMajorBComesInPanelsOf64Columns) {
  WgmmaParameters p = Large();
  p.tile_n = 160;
  EXPECT_TRUE(IsLegalWgmma(kSquare, {}, p));
  EXPECT_FALSE(IsLegalWgmma({4096, 4096, 4096, Layout::kNN}, {}, p));
}

TEST(WgmmaFamily, AccumulatorsMustFitTheRegisters) {
  WgmmaParameters p = Large();
  p.tile_m = 256;
  p.tile_n = 192;
  p.stages = 3;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));  // 192 sums of 168 registers
  p.producer_warps = 4;                        // 240 by setmaxnreg
  EXPECT_TRUE(IsLegalWgmma(kSquare, {}, p));
}

TEST(WgmmaFamily, EverySplitNeedsABlockAndRoomForPartialSums) {
  const WgmmaParameters p = {.stages = 4, .splits = 4, .tma_store = 0};
  EXPECT_TRUE(IsLegalWgmma({512, 512, 256, Layout::kTN}, {}, p));
  EXPECT_FALSE(IsLegalWgmma({512, 512, 192, Layout::kTN}, {}, p));
  WgmmaParameters shallow = p;
  shallow.tile_n = 256;
  shallow.stages = 2;  // 96 KiB for 128 KiB of sums
  EXPECT_FALSE(IsLegalWgmma({512, 512, 4096, Layout::kTN}, {}, shallow));
}

TEST(WgmmaFamily, PlanCoversEveryTileWithAClusterEach) {
  const Problem problem = {1000, 520, 4096, Layout::kTN};
  const LaunchOperation launch = LaunchOf(problem, {.cluster_m = 2, .splits = 4, .tma_store = 0});
  const Sizes sizes = SizesOf(problem, 16);
  EXPECT_EQ(Value(launch.grid[0], sizes), 4 * 5 * 8);  // ceil(1000/256) * ceil(520/128) clusters
  EXPECT_EQ(Value(launch.cluster[0], sizes), 8);
  EXPECT_EQ(Value(launch.block[0], sizes), 288);
  EXPECT_EQ(Value(launch.shared_bytes, sizes), 4 * 32768 + 80);
}

TEST(WgmmaFamily, PersistentGridStopsAtWhatIsResident) {
  const LaunchOperation launch = LaunchOf(kSquare, Large());
  EXPECT_EQ(Value(launch.grid[0], SizesOf(kSquare, 132)), 132);
  EXPECT_EQ(Value(launch.grid[0], SizesOf({128, 512, 64, Layout::kTN}, 132)), 2);
}

TEST(WgmmaFamily, PlanIsValidOnlyWhereTheKernelIsRight) {
  const LaunchPlan plan = MakeWgmma(kSquare, ToConfig(Large())).plan;
  EXPECT_EQ(Value(plan.valid_when, SizesOf(kSquare, 132)), 1);
  EXPECT_EQ(Value(plan.valid_when, SizesOf({1, 8, 8, Layout::kTN}, 132)), 1);
  EXPECT_EQ(Value(plan.valid_when, SizesOf({128, 128, 100, Layout::kTN}, 132)), 0);
  EXPECT_EQ(Value(plan.valid_when, SizesOf({128, 129, 128, Layout::kTN}, 132)), 0);
}

TEST(WgmmaFamily, TensorMapsFollowTheLayout) {
  WgmmaParameters p = Large();
  p.cluster_m = 2;
  const Problem nn = {4096, 2048, 1024, Layout::kNN};
  const Sizes sizes = SizesOf(nn, 132);
  const auto b = std::get<TensorMapArgument>(LaunchOf(nn, p).arguments.at(1));
  EXPECT_EQ(Value(b.dims[0], sizes), 2048);
  EXPECT_EQ(Value(b.dims[1], sizes), 1024);
  EXPECT_EQ(Value(b.strides_bytes[0], sizes), 4096);
  EXPECT_EQ(Value(b.box[1], sizes), 32);  // half a k-block: the other CTA sends the rest
  const auto tn = std::get<TensorMapArgument>(LaunchOf(kSquare, p).arguments.at(1));
  EXPECT_EQ(Value(tn.box[0], sizes), 64);
  EXPECT_EQ(Value(tn.box[1], sizes), 128);
  EXPECT_EQ(tn.swizzle, Swizzle::k128B);
}

TEST(WgmmaFamily, SourcesStandAlone) {
  const Candidate candidate = MakeWgmma(kSquare, ToConfig(Large()));
  for (const auto& [path, text] : candidate.sources) {
    for (size_t at = text.find("#include \""); at != std::string::npos;
         at = text.find("#include \"", at + 1)) {
      const size_t begin = at + 10, end = text.find('"', begin);
      EXPECT_TRUE(candidate.sources.contains(text.substr(begin, end - begin))) << path;
    }
  }
  EXPECT_EQ(candidate.provenance.family, "wgmma");
}

struct Expected {
  Problem problem;
  size_t at_least, at_most;
};

TEST(WgmmaFamily, SpacesAreLargeAndNotTooLarge) {
  for (const Expected& e :
       std::initializer_list<Expected>{{{64, 64, 64, Layout::kTN}, 1, 100},
                                       {{1024, 1024, 1024, Layout::kTN}, 1000, 5000},
                                       {{4096, 4096, 4096, Layout::kTN}, 1000, 20000},
                                       {{8192, 8192, 8192, Layout::kNN}, 1000, 20000},
                                       {{256, 256, 16384, Layout::kTN}, 500, 5000},
                                       {{12288, 8192, 256, Layout::kTN}, 1000, 25000},
                                       {{64, 64, 100, Layout::kTN}, 0, 0}}) {
    const size_t count = WgmmaConfigs(e.problem, {}).size();
    EXPECT_GE(count, e.at_least) << e.problem.m << " " << e.problem.k;
    EXPECT_LE(count, e.at_most) << e.problem.m << " " << e.problem.k;
  }
}

TEST(WgmmaFamily, EveryConfigurationOfASpaceIsLegalDistinctAndFits) {
  for (const Layout layout : {Layout::kNN, Layout::kTN}) {
    const Problem problem = {1000, 1048, 2056, layout};
    std::set<Config> seen;
    for (const Config& config : WgmmaConfigs(problem, {})) {
      const WgmmaParameters p = WgmmaFromConfig(config);
      EXPECT_TRUE(IsLegalWgmma(problem, {}, p));
      EXPECT_LE(WgmmaSharedBytes(p), 232448 / p.ctas_per_sm);
      EXPECT_TRUE(seen.insert(config).second);
    }
    EXPECT_GT(seen.size(), 500u);
  }
}

}  // namespace
}  // namespace warpsmith::hgemm
