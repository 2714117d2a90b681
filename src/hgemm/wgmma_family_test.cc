#include "hgemm/wgmma_family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace warpsmith::hgemm {
namespace {

using ::testing::Contains;
using ::testing::IsSubsetOf;

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

int64_t WgmmaValue(const Expression& expression, const Sizes& sizes) {
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
  EXPECT_EQ(ToConfig(Large()).size(), 22u);
}

// Recordings made before a parameter was there do not name it.
TEST(WgmmaFamily, ParametersThatAConfigDoesNotNameKeepTheirDefaults) {
  Config old = ToConfig(Large());
  old.erase("slices");
  old.erase("ping_pong");
  old.erase("overlap");
  EXPECT_EQ(WgmmaFromConfig(old), Large());
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
  for (const int64_t other : {0, 40, 168, 272}) {
    p.tile_n = other;
    EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p)) << other;
  }
  p.tile_n = 144;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));  // stores by TMA are panels of 32 columns
  p.tma_store = 0;
  EXPECT_TRUE(IsLegalWgmma(kSquare, {}, p));
  p.tile_n = 48, p.consumers = 1, p.tile_m = 64, p.cluster_m = 4, p.persistent = 0;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));  // 12 rows of B a CTA
  p.cluster_m = 2;
  EXPECT_TRUE(IsLegalWgmma(kSquare, {}, p));
  p = Large();
  p.tile_n = 160;
  EXPECT_FALSE(IsLegalWgmma({4096, 4096, 4096, Layout::kNN}, {}, p));
}

std::set<int64_t> WidthsOf(const Problem& problem) {
  std::set<int64_t> widths;
  for (const WgmmaParameters& p : WgmmaChoices(problem, {})) widths.insert(p.tile_n);
  return widths;
}

TEST(WgmmaFamily, OddWidthsAreOfferedWhereTheUsualOnesLeaveSmsIdle) {
  EXPECT_THAT(WidthsOf({512, 5120, 5120, Layout::kTN}), Contains(160));   // 4 x 32 tiles
  EXPECT_THAT(WidthsOf({512, 3584, 3584, Layout::kTN}), Contains(112));   // 4 x 32
  EXPECT_THAT(WidthsOf({2048, 2560, 2560, Layout::kTN}), Contains(160));  // 16 x 16 in two rounds
  EXPECT_THAT(WidthsOf({128, 4608, 3584, Layout::kTN}), Contains(144));   // 32 in four parts of K
  const std::set<int64_t> usual = {32, 64, 96, 128, 192, 256};
  for (const int64_t m : {64, 256, 1024, 2048, 4096, 16384}) {
    for (const int64_t n : {128, 512, 4096, 12288}) {
      EXPECT_THAT(WidthsOf({m, n, 4096, Layout::kTN}), IsSubsetOf(usual)) << m << "x" << n;
    }
  }
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
  EXPECT_EQ(WgmmaValue(launch.grid[0], sizes),
            4 * 5 * 8);  // ceil(1000/256) * ceil(520/128) clusters
  EXPECT_EQ(WgmmaValue(launch.cluster[0], sizes), 8);
  EXPECT_EQ(WgmmaValue(launch.block[0], sizes), 288);
  EXPECT_EQ(WgmmaValue(launch.shared_bytes, sizes), 4 * 32768 + 80);
}

TEST(WgmmaFamily, PersistentGridStopsAtWhatIsResident) {
  const LaunchOperation launch = LaunchOf(kSquare, Large());
  EXPECT_EQ(WgmmaValue(launch.grid[0], SizesOf(kSquare, 132)), 132);
  EXPECT_EQ(WgmmaValue(launch.grid[0], SizesOf({128, 512, 64, Layout::kTN}, 132)), 2);
}

// 512 tiles take four rounds of 132 CTAs, or of 128; so do those of 66 and of 64 clusters of two.
TEST(WgmmaFamily, EvenRoundsTakeNoMoreCtasThanTheyNeed) {
  WgmmaParameters p = Large();
  p.even_rounds = 1;
  ASSERT_TRUE(IsLegalWgmma(kSquare, {}, p));
  EXPECT_EQ(WgmmaValue(LaunchOf(kSquare, p).grid[0], SizesOf(kSquare, 132)), 128);
  EXPECT_EQ(WgmmaValue(LaunchOf({128, 512, 64, Layout::kTN}, p).grid[0],
                       SizesOf({128, 512, 64, Layout::kTN}, 132)),
            2);
  p.cluster_m = 2;
  EXPECT_EQ(WgmmaValue(LaunchOf(kSquare, p).grid[0], SizesOf(kSquare, 66)), 128);
  p.persistent = 0;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));
}

TEST(WgmmaFamily, PlanIsValidOnlyWhereTheKernelIsRight) {
  const LaunchPlan plan = MakeWgmma(kSquare, ToConfig(Large())).plan;
  EXPECT_EQ(WgmmaValue(plan.valid_when, SizesOf(kSquare, 132)), 1);
  EXPECT_EQ(WgmmaValue(plan.valid_when, SizesOf({1, 8, 8, Layout::kTN}, 132)), 1);
  EXPECT_EQ(WgmmaValue(plan.valid_when, SizesOf({128, 128, 100, Layout::kTN}, 132)), 0);
  EXPECT_EQ(WgmmaValue(plan.valid_when, SizesOf({128, 129, 128, Layout::kTN}, 132)), 0);
}

TEST(WgmmaFamily, TensorMapsFollowTheLayout) {
  WgmmaParameters p = Large();
  p.cluster_m = 2;
  const Problem nn = {4096, 2048, 1024, Layout::kNN};
  const Sizes sizes = SizesOf(nn, 132);
  const auto b = std::get<TensorMapArgument>(LaunchOf(nn, p).arguments.at(1));
  EXPECT_EQ(WgmmaValue(b.dims[0], sizes), 2048);
  EXPECT_EQ(WgmmaValue(b.dims[1], sizes), 1024);
  EXPECT_EQ(WgmmaValue(b.strides_bytes[0], sizes), 4096);
  EXPECT_EQ(WgmmaValue(b.box[1], sizes), 32);  // half a k-block: the other CTA sends the rest
  const auto tn = std::get<TensorMapArgument>(LaunchOf(kSquare, p).arguments.at(1));
  EXPECT_EQ(WgmmaValue(tn.box[0], sizes), 64);
  EXPECT_EQ(WgmmaValue(tn.box[1], sizes), 128);
  EXPECT_EQ(tn.swizzle, Swizzle::k128B);
}

TEST(WgmmaFamily, SourcesStandAlone) {
  WgmmaParameters rare = Large();
  rare.tile_n = 224;
  for (const WgmmaParameters& p : {Large(), rare}) {
    const Candidate candidate = MakeWgmma(kSquare, ToConfig(p));
    for (const auto& [path, text] : candidate.sources) {
      for (size_t at = text.find("#include \""); at != std::string::npos;
           at = text.find("#include \"", at + 1)) {
        const size_t begin = at + 10, end = text.find('"', begin);
        EXPECT_TRUE(candidate.sources.contains(text.substr(begin, end - begin))) << path;
      }
    }
    EXPECT_EQ(candidate.sources.contains("wgmma_widths.cuh"), p == rare);
    EXPECT_EQ(candidate.provenance.family, "wgmma");
  }
}

// 256x256x16384: 4 tiles of 128x128, each by 8 clusters of 4.
constexpr Problem kDeep = {256, 256, 16384, Layout::kTN};
constexpr WgmmaParameters kSliced = {.stages = 4, .splits = 4, .tma_store = 0, .slices = 8};

TEST(WgmmaFamily, SlicesMeetInAWorkspaceThatASecondKernelAddsUp) {
  ASSERT_TRUE(IsLegalWgmma(kDeep, {}, kSliced));
  const Candidate candidate = MakeWgmma(kDeep, ToConfig(kSliced));
  const LaunchPlan& plan = candidate.plan;
  const Sizes sizes = SizesOf(kDeep, 32);
  ASSERT_EQ(plan.operations.size(), 2u);
  ASSERT_EQ(plan.workspaces.size(), 1u);
  EXPECT_EQ(WgmmaValue(plan.workspaces[0].bytes, sizes), 8 * 256 * 256 * 4);
  const auto& main = std::get<LaunchOperation>(plan.operations[0]);
  const auto& sum = std::get<LaunchOperation>(plan.operations[1]);
  EXPECT_EQ(WgmmaValue(main.grid[0], sizes), 4 * 4 * 8);
  EXPECT_FALSE(main.programmatic);
  EXPECT_EQ(std::get<WorkspaceArgument>(main.arguments.at(2)).workspace, "partials");
  EXPECT_EQ(WgmmaValue(sum.grid[0], sizes), 256 * 64 / 64);  // for all SMs
  EXPECT_EQ(WgmmaValue(sum.block[0], sizes), 64);
  EXPECT_TRUE(sum.programmatic);
  EXPECT_NE(candidate.sources.at("hgemm.cu").find("hgemm_sum"), std::string::npos);
}

// Rows of partial sums are whole 16-byte groups whatever N is.
TEST(WgmmaFamily, WorkspaceOfUnalignedRowsHasRoomForWholeGroups) {
  const Problem odd = {100, 99, 16384, Layout::kTN};
  ASSERT_TRUE(IsLegalWgmma(odd, {}, kSliced));
  const LaunchPlan plan = MakeWgmma(odd, ToConfig(kSliced)).plan;
  EXPECT_EQ(WgmmaValue(plan.workspaces.at(0).bytes, SizesOf(odd, 1)), 8 * 100 * 104 * 4);
}

TEST(WgmmaFamily, EverySliceOfEverySplitNeedsABlock) {
  EXPECT_TRUE(IsLegalWgmma({256, 256, 64 * 32, Layout::kTN}, {}, kSliced));
  EXPECT_FALSE(IsLegalWgmma({256, 256, 64 * 31, Layout::kTN}, {}, kSliced));
  WgmmaParameters stored = kSliced;
  stored.tma_store = 1;  // there is no map of the workspace
  EXPECT_FALSE(IsLegalWgmma(kDeep, {}, stored));
}

TEST(WgmmaFamily, ClustersOfSixteenAreNotPortable) {
  const WgmmaParameters p = {.stages = 4, .splits = 16, .tma_store = 0};
  ASSERT_TRUE(IsLegalWgmma(kDeep, {}, p));
  EXPECT_TRUE(LaunchOf(kDeep, p).nonportable_cluster);
  WgmmaParameters eight = p;
  eight.splits = 8;
  EXPECT_FALSE(LaunchOf(kDeep, eight).nonportable_cluster);
  WgmmaParameters beyond = p;
  beyond.cluster_m = 2;
  EXPECT_FALSE(IsLegalWgmma(kDeep, {}, beyond));
}

TEST(WgmmaFamily, TurnsNeedTwoConsumersThatHoldAWholeTileEach) {
  WgmmaParameters p = {.tile_m = 128, .tile_n = 128, .stages = 4, .persistent = 1, .ping_pong = 1};
  EXPECT_TRUE(IsLegalWgmma(kSquare, {}, p));
  EXPECT_EQ(WgmmaSharedBytes(p), 4 * 32768 + 2 * 4 * 8192 + 64);  // a tile of C for each
  p.tile_n = 256;                                                 // 256 sums a thread
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));
  p.tile_n = 128, p.persistent = 0;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));
  p.persistent = 1, p.consumers = 1;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));
  p.consumers = 2, p.skew = 1;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));
}

TEST(WgmmaFamily, ElementTypeIsPartOfTheKernelAndItsMaps) {
  Problem problem = kSquare;
  problem.dtype = DType::kBF16;
  const Candidate candidate = MakeWgmma(problem, ToConfig(Large()));
  EXPECT_NE(candidate.sources.at("hgemm.cu").find("kBf16 = 1"), std::string::npos);
  for (const size_t argument : {0, 1, 2}) {
    const auto map = std::get<TensorMapArgument>(LaunchOf(problem, Large()).arguments.at(argument));
    EXPECT_EQ(map.dtype, DType::kBF16);
  }
}

TEST(WgmmaFamily, DirectLoadsTakePointersAndAWarpgroupOfProducers) {
  const Problem problem = {512, 512, 512, Layout::kTN};
  WgmmaParameters p = {.tile_m = 64, .tile_n = 64, .consumers = 1, .producer_warps = 4};
  EXPECT_FALSE(IsLegalWgmma(problem, {}, p));  // setmaxnreg is for two consumers
  p.direct_load = 1;
  ASSERT_TRUE(IsLegalWgmma(problem, {}, p));
  const LaunchOperation launch = LaunchOf(problem, p);
  EXPECT_EQ(std::get<TensorArgument>(launch.arguments.at(0)).tensor, "A");
  EXPECT_EQ(std::get<TensorArgument>(launch.arguments.at(1)).tensor, "B");
  EXPECT_EQ(WgmmaValue(launch.block[0], SizesOf(problem, 1)), 256);
  p.cluster_m = 2;  // nobody shares what threads copy
  EXPECT_FALSE(IsLegalWgmma(problem, {}, p));
  p.cluster_m = 1, p.producer_warps = 1;
  EXPECT_FALSE(IsLegalWgmma(problem, {}, p));
}

std::set<int64_t> OverlapsOf(const Problem& problem, int64_t splits, int64_t shared,
                             const Target& target = {}) {
  std::set<int64_t> overlaps;
  for (const Config& config : WgmmaConfigs(problem, target)) {
    const WgmmaParameters p = WgmmaFromConfig(config);
    const bool large = WgmmaSharedBytes(p) > 232448 / 2;
    if (p.splits == splits && p.slices == 1 && p.cluster_m * p.cluster_n == shared && large) {
      overlaps.insert(p.overlap);
    }
  }
  return overlaps;
}

// As it was measured: docs/perf.md.
TEST(WgmmaFamily, OverlapIsOfferedWhereItPays) {
  const Problem square = {1024, 1024, 1024, Layout::kTN};
  EXPECT_EQ(OverlapsOf(square, 1, 1), (std::set<int64_t>{1, 2}));
  EXPECT_EQ(OverlapsOf(square, 1, 1, {.overlap = false}), std::set<int64_t>{0});
  EXPECT_EQ(OverlapsOf({8192, 8192, 8192, Layout::kTN}, 1, 1), std::set<int64_t>{0});
  EXPECT_EQ(OverlapsOf(kDeep, 4, 1), std::set<int64_t>{0});  // 10.4 us, 13.6 us with 2
  EXPECT_EQ(OverlapsOf(kDeep, 4, 2), (std::set<int64_t>{0, 2}));
  EXPECT_TRUE(LaunchOf(square, {.overlap = 1}).programmatic);
}

// Of an H200, 2026-11-22: 1.7 % faster in the mean of 48 thin shapes, up to 5 %.
TEST(WgmmaFamily, ThinAndLargeOperandsAreFetchedAsTheyAreRead) {
  const auto promotions = [](const Problem& problem) {
    std::set<int64_t> all;
    for (const Config& config : WgmmaConfigs(problem, {})) {
      all.insert(WgmmaFromConfig(config).l2_promotion);
    }
    return all;
  };
  EXPECT_EQ(promotions({64, 12288, 8192, Layout::kTN}), std::set<int64_t>{128});
  EXPECT_EQ(promotions({12288, 128, 8192, Layout::kNN}), std::set<int64_t>{128});
  EXPECT_EQ(promotions({64, 1024, 1024, Layout::kTN}), std::set<int64_t>{256});
  EXPECT_EQ(promotions({4096, 4096, 4096, Layout::kTN}), std::set<int64_t>{256});
  WgmmaParameters p = Large();
  p.l2_promotion = 128;
  const LaunchOperation launch = LaunchOf(kSquare, p);
  EXPECT_EQ(std::get<TensorMapArgument>(launch.arguments[0]).l2_promotion_bytes, 128);
  EXPECT_EQ(std::get<TensorMapArgument>(launch.arguments[1]).l2_promotion_bytes, 128);
  p.l2_promotion = 64;
  EXPECT_FALSE(IsLegalWgmma(kSquare, {}, p));
}

// Fastest of a measurement on an H200, 2026-11-21.
TEST(WgmmaFamily, HoldsWhatWonOnAnH200) {
  const auto holds = [](const Problem& problem, const WgmmaParameters& p) {
    const std::vector<Config> configs = WgmmaConfigs(problem, {});
    return std::find(configs.begin(), configs.end(), ToConfig(p)) != configs.end();
  };
  WgmmaParameters p{.tile_m = 64, .tile_n = 128, .stages = 9, .consumers = 1};
  p.raster_group = 4, p.raster_along_m = 0, p.tma_store = 0, p.overlap = 2;
  EXPECT_TRUE(holds({1024, 1024, 4096, Layout::kTN}, p));
  p = {.tile_m = 64, .tile_n = 64, .stages = 7, .consumers = 1, .splits = 2, .tma_store = 0};
  p.overlap = 2;
  EXPECT_TRUE(holds({2048, 128, 2048, Layout::kTN}, p));
  p = {.tile_m = 64, .tile_n = 64, .stages = 7, .consumers = 1, .tma_store = 0, .slices = 4};
  EXPECT_TRUE(holds({256, 512, 4096, Layout::kTN}, p));
  p = {.tile_m = 128, .tile_n = 96, .stages = 8, .cluster_m = 2, .cluster_n = 2, .splits = 4};
  p.tma_store = 0, p.overlap = 2;
  EXPECT_TRUE(holds({512, 512, 12288, Layout::kTN}, p));
  p = {.tile_m = 64, .tile_n = 64, .tile_k = 128, .stages = 7, .consumers = 1, .splits = 4};
  p.tma_store = 0;
  EXPECT_TRUE(holds(kDeep, p));
  p = {.stages = 4, .raster_group = 1, .raster_along_m = 0, .persistent = 1, .tma_store = 0};
  p.ping_pong = 1, p.overlap = 1;
  EXPECT_TRUE(holds({2048, 2048, 256, Layout::kTN}, p));
  p = {.tile_m = 256, .tile_n = 192, .stages = 3, .producer_warps = 4, .cluster_n = 2};
  p.persistent = p.even_rounds = 1;
  EXPECT_TRUE(holds({8192, 8192, 8192, Layout::kTN}, p));
  p = {.tile_m = 192, .tile_n = 128, .stages = 4, .producer_warps = 4, .persistent = 1};
  p.ping_pong = 1;
  EXPECT_TRUE(holds({12288, 1024, 2048, Layout::kTN}, p));
}

// Where 192 rows cut C into whole tiles of one wave.
TEST(WgmmaFamily, TallTilesAreForTallC) {
  const auto count = [](const Problem& problem) {
    int tall = 0;
    for (const Config& config : WgmmaConfigs(problem, {})) {
      const WgmmaParameters p = WgmmaFromConfig(config);
      tall += p.tile_m == 192 && p.tile_n <= 128 && !p.ping_pong ? 1 : 0;
    }
    return tall;
  };
  EXPECT_GT(count({12288, 128, 8192, Layout::kTN}), 0);
  EXPECT_GT(count({12288, 256, 4096, Layout::kNN}), 0);
  EXPECT_EQ(count({8192, 128, 8192, Layout::kTN}), 0);
  EXPECT_EQ(count({12288, 512, 8192, Layout::kTN}), 0);
}

// 128 CTAs of 48 KB: four of the next launch would fit each of the four SMs that are idle.
TEST(WgmmaFamily, OverlapSpreadsTheNextLaunch) {
  const Problem problem = {512, 512, 512, Layout::kTN};
  WgmmaParameters p{.tile_m = 64, .tile_n = 32, .stages = 4, .consumers = 1, .overlap = 1};
  const Sizes sizes = SizesOf(problem, 132);
  const auto fit = [&] {
    return 233472 / (WgmmaValue(LaunchOf(problem, p).shared_bytes, sizes) + 1024);
  };
  EXPECT_EQ(fit(), 4);
  p.overlap = 2;
  EXPECT_EQ(fit(), 2);
  p.stages = 10;  // too large already
  EXPECT_EQ(WgmmaValue(LaunchOf(problem, p).shared_bytes, sizes), WgmmaSharedBytes(p));
}

// The deepest rings, of eight stages, and those of which two fit an SM; for slices those that leave
// their second kernel a cache.
TEST(WgmmaFamily, RingsOfSeveralDepthsAreOffered) {
  const auto rings = [](int64_t columns, int64_t slices) {
    std::set<int64_t> stages;
    for (const Config& config : WgmmaConfigs(kDeep, {})) {
      const WgmmaParameters p = WgmmaFromConfig(config);
      const bool asked = p.tile_n == columns && p.slices == slices;
      if (asked && p.tile_m == 64 && p.tile_k == 64 && p.splits == 1) stages.insert(p.stages);
    }
    return stages;
  };
  EXPECT_EQ(rings(64, 1), (std::set<int64_t>{14, 8, 7}));
  EXPECT_EQ(rings(128, 1), (std::set<int64_t>{9, 8, 4}));
  EXPECT_EQ(rings(64, 8), (std::set<int64_t>{7, 6}));
  EXPECT_EQ(rings(128, 8), (std::set<int64_t>{7, 6}));
}

// Clusters of eight leave SMs idle unless two CTAs fit one.
TEST(WgmmaFamily, LargeClustersAreOfferedWithRingsThatPair) {
  bool found = false;
  for (const Config& config : WgmmaConfigs(kDeep, {})) {
    const WgmmaParameters p = WgmmaFromConfig(config);
    found = found || (p.splits == 8 && p.slices == 1 && p.tile_m == 64 && p.tile_n == 64 &&
                      WgmmaSharedBytes(p) < 232448 / 2);
  }
  EXPECT_TRUE(found);
}

struct Expected {
  Problem problem;
  size_t at_least, at_most;
};

TEST(WgmmaFamily, SpacesAreLargeAndNotTooLarge) {
  for (const Expected& e :
       std::initializer_list<Expected>{{{64, 64, 64, Layout::kTN}, 1, 100},
                                       {{1024, 1024, 1024, Layout::kTN}, 400, 2000},
                                       {{4096, 4096, 4096, Layout::kTN}, 400, 2000},
                                       {{8192, 8192, 8192, Layout::kNN}, 400, 2000},
                                       {{256, 256, 16384, Layout::kTN}, 400, 2000},
                                       {{12288, 8192, 256, Layout::kTN}, 400, 4000},
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
    EXPECT_GT(seen.size(), 300u);
  }
}

}  // namespace
}  // namespace warpsmith::hgemm
