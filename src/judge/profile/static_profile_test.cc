#include "judge/profile/static_profile.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

using ::testing::SizeIs;

// Two launches: M / 64 blocks of 256 threads with 100 KiB, then one of 32 threads.
ProfileJob Job() {
  ProfileJob job;
  job.task.tensors = {{"x", DType::kF32, Role::kInput, {Expression::Literal("M")}},
                      {"y", DType::kF32, Role::kOutput, {Expression::Literal("M")}}};
  job.workload = {"w", {{"M", 64 * 198}}};
  LaunchOperation first;
  first.kernel = "first";
  first.grid[0] = Expression::Literal("M / 64");
  first.block[0] = Expression::Constant(256);
  first.shared_bytes = Expression::Constant(100 * 1024 - 512);
  first.arguments = {TensorArgument{"x"}, TensorArgument{"y"}};
  LaunchOperation second;
  second.kernel = "second";
  second.block[0] = Expression::Constant(32);
  second.arguments = {TensorArgument{"y"}};
  job.candidate.plan.operations = {first, second};
  job.artifact.architecture = "sm_90a";
  job.artifact.kernels = {{"first", 96, 512, 0, 16, 24}, {"second", 16, 0, 0, 0, 0}};
  job.artifact.opcodes = {{"HGMMA.64x128x16", 10}, {"FFMA", 20}, {"LDG.E", 5}, {"MOV", 65}};
  return job;
}

TEST(StaticProfile, TellsALaunchFromItsPlanAndItsRegisters) {
  const auto profile = StaticProfile(Job(), 132);
  ASSERT_TRUE(profile.ok()) << profile.error().Line();
  EXPECT_EQ(profile->source, "static");
  ASSERT_THAT(profile->kernels, SizeIs(2));
  const KernelProfile& first = profile->kernels[0];
  EXPECT_EQ(first.kernel, "first");
  EXPECT_EQ(Find(first, metric::kGridBlocks), 198);
  EXPECT_EQ(Find(first, metric::kBlockThreads), 256);
  EXPECT_EQ(Find(first, metric::kSharedBytes), 100 * 1024);
  EXPECT_EQ(Find(first, metric::kSpillBytes), 40);
  EXPECT_EQ(Find(first, metric::kLimitRegisters), 2);  // 65,536 / (8 warps of 96 x 32)
  EXPECT_EQ(Find(first, metric::kLimitShared), 2);     // 228 KiB, 1 KiB of each block reserved
  EXPECT_EQ(Find(first, metric::kTheoreticalOccupancyPct), 25);
  EXPECT_EQ(Find(first, metric::kWaves), 0.75);
  EXPECT_EQ(Find(first, metric::kTensorOpcodePct), 10);
  EXPECT_EQ(Find(first, metric::kTimeNs), std::nullopt);
}

TEST(StaticProfile, WhatIsNotKnownIsAbsent) {
  ProfileJob job = Job();
  job.artifact.opcodes.clear();
  job.artifact.kernels.pop_back();
  const auto profile = StaticProfile(job, 0);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(Find(profile->kernels[0], metric::kWaves), std::nullopt);
  EXPECT_EQ(Find(profile->kernels[0], metric::kTensorOpcodePct), std::nullopt);
  EXPECT_EQ(Find(profile->kernels[1], metric::kRegisters), std::nullopt);
  EXPECT_EQ(Find(profile->kernels[1], metric::kTheoreticalOccupancyPct), std::nullopt);
  job.artifact.architecture = "sm_42";
  EXPECT_EQ(Find(StaticProfile(job, 132)->kernels[0], metric::kTheoreticalOccupancyPct),
            std::nullopt);
}

TEST(StaticProfile, TakesTimesInOrderOrByName) {
  const auto in_order = StaticProfile(Job(), 132, {{"void first(int)", 5e3}, {"second", 2e3}});
  ASSERT_TRUE(in_order.ok());
  EXPECT_EQ(in_order->source, "cupti");
  EXPECT_EQ(Find(in_order->kernels[0], metric::kTimeNs), 5e3);
  EXPECT_EQ(Find(in_order->kernels[1], metric::kTimeNs), 2e3);
  const auto by_name = StaticProfile(Job(), 132, {{"second", 2e3}, {"a", 1}, {"b", 1}});
  ASSERT_TRUE(by_name.ok());
  EXPECT_EQ(Find(by_name->kernels[0], metric::kTimeNs), std::nullopt);
  EXPECT_EQ(Find(by_name->kernels[1], metric::kTimeNs), 2e3);
}

TEST(StaticProfile, AProgramHasTheKernelsThatRanOrThoseInItsImage) {
  ProfileJob job = Job();
  job.candidate.form = Form::kProgram;
  job.candidate.plan = {};
  EXPECT_THAT(StaticProfile(job, 132)->kernels, SizeIs(2));
  const auto ran = StaticProfile(job, 132, {{"second", 1e3}, {"first", 2e3}, {"second", 3e3}});
  ASSERT_THAT(ran->kernels, SizeIs(3));
  EXPECT_EQ(ran->kernels[2].kernel, "second");
  EXPECT_EQ(Find(ran->kernels[2], metric::kTimeNs), 3e3);
}

TEST(StaticProfile, APlanThatCannotBeIsAnError) {
  ProfileJob job = Job();
  job.workload.sizes.clear();
  EXPECT_FALSE(StaticProfile(job, 132).ok());
}

// Numbers that cuda_occupancy.h of CUDA 13 gives.
TEST(Occupancy, IsWhatTheDriverSays) {
  const SmLimits h200 = *LimitsOf("sm_90a");
  const auto blocks = [&](int threads, int registers, int64_t shared) {
    return TheoreticalOccupancy(h200, {threads, registers, shared})->blocks;
  };
  EXPECT_EQ(blocks(256, 244, 0), 1);
  EXPECT_EQ(blocks(384, 168, 213 * 1024), 1);
  EXPECT_EQ(blocks(128, 32, 0), 16);
  EXPECT_EQ(blocks(32, 16, 0), 32);
  EXPECT_EQ(blocks(1024, 65, 0), 0);  // cannot be launched
  EXPECT_EQ(blocks(96, 40, 8 * 1024), 16);
  EXPECT_EQ(TheoreticalOccupancy(*LimitsOf("sm_89"), {256, 32, 0})->blocks, 6);
  EXPECT_EQ(TheoreticalOccupancy(h200, {0, 32, 0}), std::nullopt);
  EXPECT_EQ(LimitsOf("sm_42"), std::nullopt);
  EXPECT_EQ(LimitsOf("compute_90"), std::nullopt);
}

RC_GTEST_PROP(Occupancy, NeverExceedsAnSm, (int registers, int64_t shared)) {
  const int threads = *rc::gen::inRange(1, 1025);
  const SmLimits limits = *LimitsOf(*rc::gen::element("sm_75", "sm_80", "sm_90a", "sm_120"));
  const auto occupancy = TheoreticalOccupancy(
      limits, {threads, std::abs(registers % 256), std::abs(shared % (int64_t{1} << 40))});
  RC_ASSERT(occupancy.has_value());
  RC_ASSERT(occupancy->blocks >= 0 && occupancy->blocks <= limits.blocks);
  RC_ASSERT(occupancy->pct >= 0 && occupancy->pct <= 100);
}

}  // namespace
}  // namespace warpsmith::profile
