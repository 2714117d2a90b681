#include "core/resolved_plan.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/tests/gemm_example.h"

namespace warpsmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Sizes kSizes{{"M", 256}, {"N", 512}, {"K", 128}};
constexpr int kSmCount = 132;

Result<ResolvedPlan> ResolveGemm(const LaunchPlan& plan, const Sizes& sizes = kSizes) {
  return Resolve(plan, GemmTask(), sizes, kSmCount,
                 [](const ResolvedLaunch&) -> Result<int64_t> { return 66; });
}

LaunchPlan GemmPlan() { return GemmCandidate().plan; }
LaunchOperation& LaunchOf(LaunchPlan& plan) {
  return std::get<LaunchOperation>(plan.operations.back());
}

TEST(Resolve, EvaluatesEveryField) {
  const auto resolved = ResolveGemm(GemmPlan()).value();
  EXPECT_EQ(resolved.workspaces[0].bytes, 4 * 256 * 512);
  EXPECT_TRUE(resolved.workspaces[0].zero);
  EXPECT_EQ(std::get<ResolvedMemset>(resolved.operations[0]).bytes, 2 * 256 * 512);
  const auto& launch = std::get<ResolvedLaunch>(resolved.operations[1]);
  EXPECT_THAT(launch.grid, ElementsAre(4, 2, 1));
  EXPECT_THAT(launch.block, ElementsAre(128, 1, 1));
  EXPECT_THAT(launch.cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(launch.shared_bytes, 65536U);
  const auto& map = std::get<ResolvedTensorMap>(launch.arguments[0]);
  EXPECT_THAT(map.dims, ElementsAre(128, 256));
  EXPECT_THAT(map.strides_bytes, ElementsAre(256));
  EXPECT_THAT(map.box, ElementsAre(64, 128));
}

template <typename T>
T BitsOf(const ResolvedArgument& argument) {
  const auto& scalar = std::get<ResolvedScalar>(argument);
  EXPECT_EQ(static_cast<size_t>(scalar.bytes), sizeof(T));
  T value{};
  std::memcpy(&value, scalar.bits.data(), sizeof(T));
  return value;
}

TEST(Resolve, MakesScalarsOfTheirOwnWidth) {
  LaunchPlan plan = GemmPlan();
  LaunchOf(plan).arguments = {IntArgument{E("-M"), 4}, IntArgument{E("M * 1000000000"), 8},
                              FloatArgument{0.1, 4}, FloatArgument{0.1, 8}};
  const auto resolved = ResolveGemm(plan);
  const auto& arguments = std::get<ResolvedLaunch>(resolved->operations[1]).arguments;
  EXPECT_EQ(BitsOf<int32_t>(arguments[0]), -256);
  EXPECT_EQ(BitsOf<int64_t>(arguments[1]), 256'000'000'000);
  EXPECT_EQ(BitsOf<float>(arguments[2]), 0.1F);
  EXPECT_EQ(BitsOf<double>(arguments[3]), 0.1);
}

TEST(Resolve, AsksForOccupancyOnlyWhereItIsUsed) {
  LaunchPlan plan = GemmPlan();
  int asked = 0;
  const ClusterOccupancy occupancy = [&](const ResolvedLaunch& launch) -> Result<int64_t> {
    ++asked;
    EXPECT_THAT(launch.cluster, ElementsAre(2, 1, 1));
    EXPECT_EQ(launch.shared_bytes, 65536U);
    return 66;
  };
  ASSERT_TRUE(Resolve(plan, GemmTask(), kSizes, kSmCount, occupancy).ok());
  EXPECT_EQ(asked, 0);
  LaunchOf(plan).grid[0] = E("2 * min(max_active_clusters, sm_count)");
  const auto resolved = Resolve(plan, GemmTask(), kSizes, kSmCount, occupancy);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(std::get<ResolvedLaunch>(resolved->operations[1]).grid[0], 132U);
  EXPECT_THAT(Resolve(plan, GemmTask(), kSizes, kSmCount, nullptr).error().message,
              HasSubstr("no device is there to ask"));
  LaunchOf(plan).block[0] = E("max_active_clusters");
  EXPECT_THAT(Resolve(plan, GemmTask(), kSizes, kSmCount, occupancy).error().message,
              HasSubstr("not a known name"));
}

TEST(Resolve, PassesOnWhatOccupancySays) {
  LaunchPlan plan = GemmPlan();
  LaunchOf(plan).grid[0] = E("max_active_clusters");
  const auto resolved =
      Resolve(plan, GemmTask(), kSizes, kSmCount, [](const ResolvedLaunch&) -> Result<int64_t> {
        return Error{ErrorCode::kUnavailable, "no driver", ""};
      });
  EXPECT_EQ(resolved.error().code, ErrorCode::kUnavailable);
}

TEST(Resolve, RefusesSizesThatThePlanIsNotFor) {
  const auto resolved = ResolveGemm(GemmPlan(), {{"M", 256}, {"N", 512}, {"K", 100}});
  EXPECT_EQ(resolved.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(resolved.error().message, HasSubstr("\"K % 64 == 0\" does not hold for K=100"));
}

struct Bad {
  const char* says;
  void (*change)(LaunchPlan&);
};

class ResolveRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(ResolveRefuses, NamingTheField) {
  LaunchPlan plan = GemmPlan();
  GetParam().change(plan);
  const auto resolved = ResolveGemm(plan);
  ASSERT_FALSE(resolved.ok()) << GetParam().says;
  EXPECT_EQ(resolved.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(resolved.error().message, HasSubstr(GetParam().says));
}

TensorMapArgument& MapOf(LaunchPlan& plan) {
  return std::get<TensorMapArgument>(LaunchOf(plan).arguments[0]);
}

const Bad kLaunches[] = {
    {"operations[1].block[0]: \"0\" is 0, must be from 1 to 1024",
     [](LaunchPlan& p) { LaunchOf(p).block[0] = E("0"); }},
    {"operations[1].block[2]", [](LaunchPlan& p) { LaunchOf(p).block[2] = E("65"); }},
    {"2048 threads; at most 1024", [](LaunchPlan& p) { LaunchOf(p).block[1] = E("16"); }},
    {"operations[1].grid[0]: is 3, not a multiple of the cluster's 2",
     [](LaunchPlan& p) { LaunchOf(p).grid[0] = E("3"); }},
    {"operations[1].grid[1]", [](LaunchPlan& p) { LaunchOf(p).grid[1] = E("65536"); }},
    {"operations[1].grid[0]: expression \"M / 0\" divides by zero",
     [](LaunchPlan& p) { LaunchOf(p).grid[0] = E("M / 0"); }},
    {"32 CTAs; at most 16",
     [](LaunchPlan& p) {
       LaunchOf(p).cluster = {E("8"), E("4"), E("1")};
     }},
    {"more than 8 need nonportable_cluster",
     [](LaunchPlan& p) {
       LaunchOf(p).cluster = {E("16"), E("1"), E("1")};
     }},
    {"operations[1].shared_bytes", [](LaunchPlan& p) { LaunchOf(p).shared_bytes = E("-1"); }},
    {"operations[1].kernel", [](LaunchPlan& p) { LaunchOf(p).kernel = ""; }},
    {"operations[1].arguments[4]: \"M * 100000000\" is 25600000000, more than 32 bits hold",
     [](LaunchPlan& p) {
       LaunchOf(p).arguments[4] = IntArgument{E("M * 100000000"), 4};
     }},
    {"more than a 32-bit float holds",
     [](LaunchPlan& p) {
       LaunchOf(p).arguments[6] = FloatArgument{1e300, 4};
     }},
    {"names \"D\", which is neither a tensor nor a workspace (A, B, C, partial)",
     [](LaunchPlan& p) { LaunchOf(p).arguments[2] = TensorArgument{"D"}; }},
    {"names a workspace as a tensor",
     [](LaunchPlan& p) { LaunchOf(p).arguments[2] = TensorArgument{"partial"}; }},
    {"names a tensor as a workspace",
     [](LaunchPlan& p) { LaunchOf(p).arguments[3] = WorkspaceArgument{"A"}; }},
    {"empty table", [](LaunchPlan& p) { LaunchOf(p).arguments[7] = TableArgument{}; }},
    {"operations: is empty", [](LaunchPlan& p) { p.operations.clear(); }},
    {"has the name of another", [](LaunchPlan& p) { p.workspaces[0].name = "A"; }},
    {"workspace partial", [](LaunchPlan& p) { p.workspaces[0].bytes = E("0"); }},
};
INSTANTIATE_TEST_SUITE_P(Launches, ResolveRefuses, ::testing::ValuesIn(kLaunches));

const Bad kMaps[] = {
    {"arguments[0]: dims[1]: \"0\" is 0", [](LaunchPlan& p) { MapOf(p).dims[1] = E("0"); }},
    {"reaches past the 65536 bytes of A", [](LaunchPlan& p) { MapOf(p).dims[1] = E("M + 1"); }},
    {"strides_bytes[0]: 264, must be a multiple of 16",
     [](LaunchPlan& p) { MapOf(p).strides_bytes[0] = E("264"); }},
    {"box[1]: \"512\" is 512, must be from 1 to 256",
     [](LaunchPlan& p) { MapOf(p).box[1] = E("512"); }},
    {"box[0]: 256 bytes, more than the swizzle's 128",
     [](LaunchPlan& p) { MapOf(p).box[0] = E("128"); }},
    {"box[0]: 10 bytes, must be a multiple of 16", [](LaunchPlan& p) { MapOf(p).box[0] = E("5"); }},
    {"element_strides[0]", [](LaunchPlan& p) { MapOf(p).element_strides[0] = E("9"); }},
    {"box and element_strides as many", [](LaunchPlan& p) { MapOf(p).box.pop_back(); }},
    {"1 to 5 dimensions", [](LaunchPlan& p) { MapOf(p).dims.clear(); }},
    {"interleave needs", [](LaunchPlan& p) { MapOf(p).interleave_bytes = 16; }},
};
INSTANTIATE_TEST_SUITE_P(TensorMaps, ResolveRefuses, ::testing::ValuesIn(kMaps));

PadOperation Pad() {
  return {"partial", "A", E("M"), E("2 * K"), E("2 * K"), E("M"), E("2 * K + 16")};
}

const Bad kMemory[] = {
    {"operations[0].bytes: \"2 * M * N + 1\" is 262145, must be from 1 to 262144",
     [](LaunchPlan& p) {
       p.operations[0] = MemsetOperation{"C", 0, E("2 * M * N + 1")};
     }},
    {"operations[0].target: is the input A",
     [](LaunchPlan& p) {
       p.operations[0] = MemsetOperation{"A", 0, E("1")};
     }},
    {"operations[0].target: is the input A",
     [](LaunchPlan& p) {
       p.operations[0] = CopyOperation{"A", "B", E("1")};
     }},
    {"operations[0].bytes: \"65537\" is 65537, must be from 1 to 65536",
     [](LaunchPlan& p) {
       p.operations[0] = CopyOperation{"C", "A", E("65537")};
     }},
    {"copies C onto itself",
     [](LaunchPlan& p) {
       p.operations[0] = CopyOperation{"C", "C", E("1")};
     }},
    {"operations[0].source",
     [](LaunchPlan& p) {
       p.operations[0] = CopyOperation{"C", "x", E("1")};
     }},
    {"reads past the end of A",
     [](LaunchPlan& p) {
       PadOperation pad = Pad();
       pad.source_pitch_bytes = E("2 * K + 1");
       p.operations[0] = pad;
     }},
    {"writes past the end of partial",
     [](LaunchPlan& p) {
       PadOperation pad = Pad();
       pad.target_rows = E("M * 1000000");
       p.operations[0] = pad;
     }},
    {"target_pitch_bytes",
     [](LaunchPlan& p) {
       PadOperation pad = Pad();
       pad.target_pitch_bytes = E("2 * K - 1");
       p.operations[0] = pad;
     }},
};
INSTANTIATE_TEST_SUITE_P(Memory, ResolveRefuses, ::testing::ValuesIn(kMemory));

TEST(Resolve, PadsRows) {
  LaunchPlan plan = GemmPlan();
  plan.operations[0] = Pad();
  const auto resolved = ResolveGemm(plan).value();
  EXPECT_EQ(std::get<ResolvedPad>(resolved.operations[0]).target_pitch_bytes, 272);
}

}  // namespace
}  // namespace warpsmith
