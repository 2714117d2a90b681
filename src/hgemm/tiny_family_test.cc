#include "hgemm/tiny_family.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<Problem> kShapes = {
    {64, 64, 64},   {128, 128, 128}, {64, 64, 1024},   {256, 256, 256}, {128, 128, 512},
    {64, 4096, 64}, {4096, 64, 64},  {1024, 256, 128}, {512, 512, 512}, {64, 64, 16384},
};

Problem With(Problem problem, Layout layout) {
  problem.layout = layout;
  return problem;
}

int64_t TinyValue(const Expression& expression, const Problem& p) {
  const auto value = expression.Evaluate({{"M", p.m}, {"N", p.n}, {"K", p.k}});
  EXPECT_TRUE(value.ok());
  return value.ok() ? *value : -1;
}

TEST(TinyFamily, ConfigsAreLegalDistinctAndRoundTrip) {
  for (const Problem& shape : kShapes) {
    for (const Layout layout : {Layout::kNN, Layout::kTN}) {
      const Problem problem = With(shape, layout);
      const std::vector<Config> configs = TinyConfigs(problem, Target{});
      EXPECT_GE(configs.size(), 60u) << shape.m << "x" << shape.n << "x" << shape.k;
      for (const Config& config : configs) {
        const TinyParameters p = TinyFromConfig(config);
        EXPECT_TRUE(IsLegalTiny(problem, Target{}, p));
        EXPECT_EQ(ToConfig(p), config);
      }
      EXPECT_EQ(std::set<Config>(configs.begin(), configs.end()).size(), configs.size());
    }
  }
}

TEST(TinyFamily, LeavesWhatItCannotDivideOrCrowdsTo) {
  EXPECT_THAT(TinyConfigs({65, 64, 64}, Target{}), IsEmpty());
  EXPECT_THAT(TinyConfigs({64, 60, 64}, Target{}), IsEmpty());
  EXPECT_THAT(TinyConfigs({64, 64, 48}, Target{}), IsEmpty());
  EXPECT_THAT(TinyConfigs({1, 1, 1}, Target{}), IsEmpty());
  EXPECT_THAT(TinyConfigs({4096, 4096, 4096}, Target{}), IsEmpty());
}

TEST(TinyFamily, ClustersNeedSm90AndPrmtNeedsRowMajorB) {
  Target sm80;
  sm80.compute_capability = 80;
  for (const Config& config : TinyConfigs({64, 64, 16384, Layout::kNN}, sm80)) {
    EXPECT_EQ(config.at("cluster_slices"), 1);
  }
  for (const Config& config : TinyConfigs({64, 64, 64, Layout::kTN}, Target{})) {
    EXPECT_EQ(config.at("permute"), 0);
  }
}

// Fastest of sweeps on an H200, 2026-11-21.
TEST(TinyFamily, HoldsWhatWonOnAnH200) {
  const auto holds = [](Problem problem, TinyParameters p) {
    const std::vector<Config> configs = TinyConfigs(problem, Target{});
    return std::find(configs.begin(), configs.end(), ToConfig(p)) != configs.end();
  };
  // Warp tile, tile warps, slice warps, cluster slices, unroll, accumulators, permute, overlap.
  EXPECT_TRUE(holds({64, 64, 64, Layout::kTN}, {16, 8, 2, 2, 1, 1, 2, 2, 0, 1}));
  EXPECT_TRUE(holds({64, 64, 64, Layout::kNN}, {16, 8, 1, 1, 1, 1, 2, 2, 0, 1}));
  EXPECT_TRUE(holds({64, 64, 1024, Layout::kTN}, {16, 8, 1, 1, 8, 1, 4, 2, 0, 1}));
  EXPECT_TRUE(holds({128, 128, 2048, Layout::kTN}, {16, 8, 1, 1, 8, 1, 2, 1, 0, 2}));
  EXPECT_TRUE(holds({64, 16384, 64, Layout::kTN}, {32, 32, 2, 2, 1, 1, 2, 1, 0, 2}));
  EXPECT_TRUE(holds({4096, 64, 64, Layout::kTN}, {16, 32, 2, 1, 1, 1, 2, 1, 0, 2}));
  EXPECT_TRUE(holds({512, 512, 512, Layout::kTN}, {32, 32, 1, 2, 2, 1, 2, 1, 0, 2}));
  EXPECT_TRUE(holds({64, 64, 16384, Layout::kTN}, {32, 16, 1, 1, 4, 16, 2, 2, 0, 2}));
}

// Launches that begin at once crowd where most SMs are taken (128 CTAs: 3.0 us, 2.4 us).
TEST(TinyFamily, BeginsAtOnceOnlyWhereMostSmsAreIdle) {
  for (const Problem& problem : kShapes) {
    for (const Config& config : TinyConfigs(problem, Target{})) {
      const TinyParameters p = TinyFromConfig(config);
      EXPECT_TRUE(p.overlap == 2 || (p.overlap == 1 && TinyCtas(problem, p) <= 66));
    }
    for (const Config& config : TinyConfigs(problem, {.overlap = false})) {
      EXPECT_EQ(config.at("overlap"), 0);
    }
  }
}

TEST(TinyFamily, PlanCoversCOnceWithTheThreadsOfTheSource) {
  for (const Problem& problem : kShapes) {
    for (const Config& config : TinyConfigs(problem, Target{})) {
      const TinyParameters p = TinyFromConfig(config);
      const Candidate candidate = MakeTiny(problem, config);
      ASSERT_EQ(candidate.plan.operations.size(), 1u);
      const auto& launch = std::get<LaunchOperation>(candidate.plan.operations[0]);
      const int64_t tile = p.warp_m * p.tile_warps_m * p.warp_n * p.tile_warps_n;
      EXPECT_EQ(TinyValue(launch.grid[0], problem) * tile,
                problem.m * problem.n * p.cluster_slices);
      EXPECT_EQ(TinyValue(launch.grid[0], problem) % TinyValue(launch.cluster[0], problem), 0);
      EXPECT_EQ(TinyValue(launch.block[0], problem), TinyThreads(p));
      EXPECT_EQ(launch.nonportable_cluster, p.cluster_slices == 16);
      EXPECT_EQ(launch.arguments.size(), 3u);
    }
  }
}

// 128 CTAs leave four SMs idle, which would take many of the next launch.
TEST(TinyFamily, OverlapSpreadsTheNextLaunch) {
  const Problem problem{128, 128, 2048, Layout::kTN};
  TinyParameters p{.slice_warps = 8, .unroll = 2, .overlap = 1};
  const auto shared = [&] {
    const Candidate candidate = MakeTiny(problem, ToConfig(p));
    const auto& launch = std::get<LaunchOperation>(candidate.plan.operations[0]);
    return TinyValue(launch.shared_bytes, problem);
  };
  ASSERT_EQ(TinyCtas(problem, p), 128);
  EXPECT_EQ(shared(), 0);
  p.overlap = 2;
  EXPECT_GT(3 * shared(), 233472);
  EXPECT_LT(2 * (shared() + 8 * 16 * 8 * 4 + 1024), 233472 + 1);
}

TEST(TinyFamily, CandidateServesItsShapeOnly) {
  const Problem problem{64, 128, 64, Layout::kNN};
  const Candidate candidate = MakeTiny(problem, TinyConfigs(problem, Target{}).front());
  EXPECT_EQ(TinyValue(candidate.plan.valid_when, problem), 1);
  EXPECT_EQ(TinyValue(candidate.plan.valid_when, {64, 128, 128}), 0);
  EXPECT_EQ(candidate.provenance.family, "tiny");
  EXPECT_TRUE(candidate.sources.contains("tiny.cuh"));
  EXPECT_THAT(candidate.sources.at(candidate.entry), HasSubstr("kM = 64, kN = 128, kK = 64"));
  EXPECT_THAT(candidate.sources.at(candidate.entry), HasSubstr("kRowMajorMovmatrix"));
}

}  // namespace
}  // namespace warpsmith::hgemm
