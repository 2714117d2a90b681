#include "hgemm/mma_sync_family.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "hgemm/tiny_family.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int64_t Value(const Expression& expression, const Problem& p) {
  const auto value = expression.Evaluate({{"M", p.m}, {"N", p.n}, {"K", p.k}});
  EXPECT_TRUE(value.ok());
  return value.ok() ? *value : -1;
}

const LaunchOperation& Launch(const Candidate& candidate, size_t index) {
  return std::get<LaunchOperation>(candidate.plan.operations.at(index));
}

bool Holds(const Problem& problem, const MmaSyncParameters& p, const Target& target = {}) {
  const std::vector<Config> configs = MmaSyncConfigs(problem, target);
  return std::find(configs.begin(), configs.end(), ToConfig(p)) != configs.end();
}

RC_GTEST_PROP(MmaSyncFamily, AnySizeHasLegalDistinctConfigsThatFit, ()) {
  Problem problem{*rc::gen::inRange(1, 700), *rc::gen::inRange(1, 700), *rc::gen::inRange(1, 700)};
  problem.layout = *rc::gen::element(Layout::kNN, Layout::kTN);
  const std::vector<Config> configs = MmaSyncConfigs(problem, Target{});
  RC_ASSERT(!configs.empty());
  RC_ASSERT(std::set<Config>(configs.begin(), configs.end()).size() == configs.size());
  for (const Config& config : configs) {
    const MmaSyncParameters p = MmaSyncFromConfig(config);
    RC_ASSERT(IsLegalMmaSync(problem, Target{}, p));
    RC_ASSERT(ToConfig(p) == config);
    RC_ASSERT(MmaSyncSharedBytes(p) <= Target{}.max_shared_bytes);
    RC_ASSERT(MmaSyncThreads(p) <= 512);
  }
}

// As many as a search can make use of, on every shape of the grid.
TEST(Families, OfferEnoughAndNotTooMuchForEveryListedDimension) {
  for (const int64_t m : {64, 256, 1024, 4096, 16384}) {
    for (const int64_t n : {64, 512, 2048, 12288}) {
      for (const int64_t k : {64, 1024, 8192}) {
        const size_t count = SpaceFor({m, n, k, Layout::kTN}, Target{}).size();
        EXPECT_GE(count, 100u) << m << "x" << n << "x" << k;
        EXPECT_LE(count, 5'000u) << m << "x" << n << "x" << k;
      }
    }
  }
}

// Fastest of a sweep on an H200, 2026-11-21, where the family was near the best; and what older
// devices, which have nothing else, must still be offered.
TEST(MmaSyncFamily, HoldsWhatWonOnAnH200) {
  MmaSyncParameters p{.tile_m = 32, .tile_n = 64, .tile_k = 128};
  p.warps_m = 2, p.stages = 4, p.staged_store = 1, p.baked = 1, p.overlap = 2;
  EXPECT_TRUE(Holds({2048, 128, 512, Layout::kNN}, p));
  p = {.tile_m = 64, .tile_n = 64, .tile_k = 128};
  p.warps_n = 2, p.warps_k = 2, p.stages = 3, p.splits = 16, p.split_cluster = 1, p.baked = 1;
  p.overlap = 2;
  EXPECT_TRUE(Holds({256, 64, 16384, Layout::kTN}, p));
  p = {.tile_m = 128, .tile_n = 128, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2, p.stages = 3, p.staged_store = 1, p.raster_group = 8;
  EXPECT_FALSE(Holds({2048, 2048, 2048, Layout::kTN}, p));
  EXPECT_TRUE(Holds({2048, 2048, 2048, Layout::kTN}, p, {.compute_capability = 80}));
}

// Where TMA cannot go the family is alone.
TEST(MmaSyncFamily, IsOfferedWholeForOddSizes) {
  EXPECT_GT(MmaSyncConfigs({2048, 2048, 2047, Layout::kTN}, Target{}).size(), 200u);
  EXPECT_EQ(MmaSyncConfigs({2048, 2048, 2048, Layout::kTN}, Target{}).size(), 0u);
}

TEST(MmaSyncFamily, OlderDevicesGetNoClustersAndLessSharedMemory) {
  const Target sm86{.compute_capability = 86, .sm_count = 84, .max_shared_bytes = 101376};
  const std::vector<Config> configs = MmaSyncConfigs({512, 512, 4096}, sm86);
  EXPECT_GE(configs.size(), 200u);
  for (const Config& config : configs) {
    EXPECT_EQ(config.at("split_cluster"), 0);
    EXPECT_LE(MmaSyncSharedBytes(MmaSyncFromConfig(config)), sm86.max_shared_bytes);
  }
}

TEST(MmaSyncFamily, PlanOfAnExactKernel) {
  const Problem problem{2048, 1024, 4096, Layout::kTN};
  MmaSyncParameters p{.tile_m = 128, .tile_n = 64, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2, p.stages = 4, p.staged_store = 1, p.raster_group = 8;
  ASSERT_TRUE(IsLegalMmaSync(problem, Target{}, p));
  const Candidate candidate = MakeMmaSync(problem, ToConfig(p));
  ASSERT_EQ(candidate.plan.operations.size(), 1u);
  const LaunchOperation& launch = Launch(candidate, 0);
  EXPECT_EQ(Value(launch.grid[0], problem), 16 * 16);
  EXPECT_EQ(Value(launch.block[0], problem), 128);
  EXPECT_EQ(Value(launch.shared_bytes, problem), 4 * (128 + 64) * 64 * 2);
  EXPECT_EQ(launch.arguments.size(), 6u);
  EXPECT_EQ(Value(candidate.plan.valid_when, problem), 1);
  EXPECT_EQ(Value(candidate.plan.valid_when, {2048, 1000, 4096}), 0);
  EXPECT_THAT(candidate.sources.at(candidate.entry), HasSubstr("Edge::kExact"));
}

TEST(MmaSyncFamily, WorkspaceSplitSumsInASecondLaunch) {
  const Problem problem{256, 264, 4096, Layout::kNN};
  MmaSyncParameters p{.tile_m = 64, .tile_n = 64, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2, p.stages = 3, p.splits = 8;
  ASSERT_TRUE(IsLegalMmaSync(problem, Target{}, p));
  const Candidate candidate = MakeMmaSync(problem, ToConfig(p));
  ASSERT_EQ(candidate.plan.operations.size(), 2u);
  ASSERT_EQ(candidate.plan.workspaces.size(), 1u);
  EXPECT_EQ(Value(candidate.plan.workspaces[0].bytes, problem), 256 * 264 * 8 * 4);
  EXPECT_EQ(Value(Launch(candidate, 0).grid[0], problem), 4 * 5 * 8);
  EXPECT_EQ(Value(Launch(candidate, 1).grid[0], problem), 66);  // 1024 elements a CTA
  EXPECT_EQ(Launch(candidate, 0).arguments.size(), 7u);
  EXPECT_EQ(Launch(candidate, 1).arguments.size(), 4u);
  EXPECT_THAT(candidate.sources.at(candidate.entry), HasSubstr("Edge::kAligned"));
}

TEST(MmaSyncFamily, SecondLaunchMayTakeItsPlaceEarlyOnlyWhereThereIsOne) {
  const Problem problem{256, 264, 4096, Layout::kNN};
  MmaSyncParameters p{.tile_m = 64, .tile_n = 64, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2, p.stages = 3, p.splits = 8, p.early_reduce = 1;
  ASSERT_TRUE(IsLegalMmaSync(problem, Target{}, p));
  EXPECT_FALSE(IsLegalMmaSync(problem, Target{.compute_capability = 89}, p));
  const Candidate candidate = MakeMmaSync(problem, ToConfig(p));
  EXPECT_FALSE(Launch(candidate, 0).programmatic);
  EXPECT_TRUE(Launch(candidate, 1).programmatic);
  p.splits = 1;
  EXPECT_FALSE(IsLegalMmaSync(problem, Target{}, p));
}

TEST(MmaSyncFamily, SumsElementByElementWhereRowsAreUnaligned) {
  const Problem problem{64, 99, 4096, Layout::kTN};
  MmaSyncParameters p{.tile_m = 32, .tile_n = 64, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2, p.stages = 3, p.splits = 4;
  ASSERT_TRUE(IsLegalMmaSync(problem, Target{}, p));
  EXPECT_EQ(Value(Launch(MakeMmaSync(problem, ToConfig(p)), 1).grid[0], problem), 25);
}

TEST(MmaSyncFamily, ElementTypeIsPartOfTheKernel) {
  Problem problem{256, 256, 256, Layout::kTN};
  MmaSyncParameters p{.tile_m = 64, .tile_n = 64, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2;
  EXPECT_THAT(MakeMmaSync(problem, ToConfig(p)).sources.at("hgemm.cu"), HasSubstr("kBf16 = 0"));
  problem.dtype = DType::kBF16;
  EXPECT_THAT(MakeMmaSync(problem, ToConfig(p)).sources.at("hgemm.cu"), HasSubstr("kBf16 = 1"));
}

TEST(MmaSyncFamily, ClusterSplitIsOneLaunchWithAnInbox) {
  const Problem problem{64, 64, 16384, Layout::kTN};
  MmaSyncParameters p{.tile_m = 64, .tile_n = 64, .tile_k = 64};
  p.warps_m = 2, p.warps_n = 2, p.stages = 3, p.splits = 16, p.split_cluster = 1;
  EXPECT_FALSE(IsLegalMmaSync(problem, Target{}, p)) << "8 fragments cannot be shared by 16 ranks";
  p.splits = 8;
  ASSERT_TRUE(IsLegalMmaSync(problem, Target{}, p));
  const LaunchOperation launch = Launch(MakeMmaSync(problem, ToConfig(p)), 0);
  EXPECT_EQ(Value(launch.cluster[0], problem), 8);
  EXPECT_EQ(Value(launch.grid[0], problem), 8);
  EXPECT_FALSE(launch.nonportable_cluster);
  EXPECT_EQ(Value(launch.shared_bytes, problem), 3 * 128 * 64 * 2 + 64 * 64 * 4);
}

TEST(MmaSyncFamily, OddSizesGetElementLoadsAndNoStagedStore) {
  const Problem problem{77, 131, 101, Layout::kNN};
  const std::vector<Config> configs = MmaSyncConfigs(problem, Target{});
  EXPECT_GE(configs.size(), 100u);
  for (const Config& config : configs) {
    EXPECT_EQ(config.at("staged_store"), 0);
    const Candidate candidate = MakeMmaSync(problem, config);
    EXPECT_THAT(candidate.sources.at(candidate.entry), HasSubstr("Edge::kUnaligned"));
    EXPECT_THAT(candidate.sources.at(candidate.entry), Not(HasSubstr("kStaged")));
  }
}

}  // namespace
}  // namespace warpsmith::hgemm
