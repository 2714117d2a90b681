#include "judge/slot_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace warpsmith::judge {
namespace {

constexpr ArenaLimits kH200 = {int64_t{60} << 20, int64_t{16} << 30, int64_t{16} << 30};

ProblemBytes GemmBytes(int64_t m, int64_t n, int64_t k) {
  return {{2 * m * k, 2 * n * k}, 2 * m * n, 12 * m * n, true};
}

constexpr size_t kInputs = 2;
constexpr int kAll = 64;

std::vector<Assignment> Draw(const ArenaPlan& plan, Random& random) {
  return {DrawAssignment(plan, random), DrawAssignment(plan, random)};
}

TEST(PlanArena, TinyProblemsGetManyLaunches) {
  const ArenaPlan plan = PlanArena(GemmBytes(64, 64, 64), 2.0, kH200);
  EXPECT_EQ(plan.contents, 8);
  EXPECT_EQ(plan.touch_launches, 8);
  EXPECT_EQ(plan.timed_launches, 50);
}

TEST(PlanArena, HugeProblemsGetFew) {
  const ArenaPlan plan = PlanArena(GemmBytes(16384, 16384, 16384), 13'000, kH200);
  EXPECT_EQ(plan.contents, 2);
  EXPECT_EQ(plan.touch_launches, 1);
  EXPECT_EQ(plan.timed_launches, 1);
  EXPECT_EQ(plan.output_slots, 2);
}

TEST(PlanArena, ReferencesStayInTheirBudget) {
  const ArenaPlan plan = PlanArena(GemmBytes(16384, 16384, 64), 150, kH200);
  EXPECT_LE(plan.combinations() * int64_t{12} * 16384 * 16384, kH200.reference_bytes);
}

TEST(Region, SlotsDoNotOverlapAndExactOnesEndWithTheMapping) {
  const Region region = MakeRegion(3, 1000);
  EXPECT_EQ(region.padded, 1024);
  EXPECT_EQ(region.OffsetOf(1) - region.OffsetOf(0), 1024 + kGuardBytes);
  EXPECT_EQ(region.end, region.OffsetOf(2) + 1024 + kGuardBytes);
  const Region exact = MakeExactRegion(1000, 1 << 21);
  EXPECT_EQ(exact.AddressOf(0) + 1024, uint64_t{1} << 21);
  const Region full = MakeExactRegion(1 << 21, 1 << 21);
  EXPECT_EQ(full.AddressOf(0), 0U);
  EXPECT_EQ(full.guard, 0);
}

TEST(PlanArena, OtherReferencesGetASetALaunch) {
  const ProblemBytes bytes{{1 << 20, 1 << 10, 4}, 1 << 20, 2 << 20, false};
  const ArenaPlan plan = PlanArena(bytes, 2.0, kH200);
  EXPECT_EQ(plan.contents, 51);
  EXPECT_EQ(plan.combinations(), 51);
  EXPECT_EQ(plan.timed_launches, 50);
  EXPECT_EQ(plan.input_slots, 51);
  const ArenaPlan large =
      PlanArena({{int64_t{6} << 30}, int64_t{6} << 30, int64_t{6} << 30, false}, 3000, kH200);
  EXPECT_EQ(large.contents, 2);
}

TEST(PlanBatch, SlowCandidatesGetFewerLaunches) {
  const ArenaPlan plan = PlanArena({{1 << 20, 4}, 1 << 20, 2 << 20, false}, 2.0, kH200);
  Random random(5, "few");
  const BatchPlan batch = PlanBatch(plan, Mode::kDeviceHot, Draw(plan, random), 3, random);
  EXPECT_EQ(batch.timed.size(), 3U);
  EXPECT_EQ(batch.touch.size(), 1U);
}

struct Case {
  ArenaPlan plan;
  uint64_t seed;
};

Case AnyCase() {
  const auto extent = [] { return int64_t{1} << *rc::gen::inRange(6, 15); };
  const double expected_us = *rc::gen::element(1.0, 2.0, 7.0, 40.0, 900.0, 9000.0);
  ProblemBytes bytes = GemmBytes(extent(), extent(), extent());
  bytes.crossed = *rc::gen::arbitrary<bool>();
  return {PlanArena(bytes, expected_us, kH200), *rc::gen::arbitrary<uint64_t>()};
}

RC_GTEST_PROP(PlanBatch, GivesEveryLaunchItsOwnCombinationAndOutput, ()) {
  const Case drawn = AnyCase();
  Random random(drawn.seed, "batch");
  const auto assignments = Draw(drawn.plan, random);
  for (Mode mode : {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer}) {
    const BatchPlan batch = PlanBatch(drawn.plan, mode, assignments, kAll, random);
    RC_ASSERT(!batch.timed.empty());
    std::set<std::vector<int>> combinations;
    std::set<int> outputs;
    for (const auto* launches : {&batch.touch, &batch.timed}) {
      for (const PlannedLaunch& launch : *launches) {
        RC_ASSERT(combinations.insert(launch.content).second);
        RC_ASSERT(outputs.insert(launch.output_slot).second);
        RC_ASSERT(launch.output_slot < drawn.plan.output_slots);
        for (size_t i = 0; i < kInputs; ++i) {
          RC_ASSERT(assignments[i].at(static_cast<size_t>(launch.slot[i])) == launch.content[i]);
        }
      }
    }
  }
}

RC_GTEST_PROP(PlanBatch, ColdBatchesReadNoSlotTwice, ()) {
  const Case drawn = AnyCase();
  Random random(drawn.seed, "cold");
  const auto assignments = Draw(drawn.plan, random);
  for (Mode mode : {Mode::kDeviceCold, Mode::kServer}) {
    const BatchPlan batch = PlanBatch(drawn.plan, mode, assignments, kAll, random);
    RC_ASSERT(batch.touch.empty());
    std::set<std::pair<size_t, int>> read;
    for (const PlannedLaunch& launch : batch.timed) {
      for (size_t i = 0; i < kInputs; ++i) RC_ASSERT(read.insert({i, launch.slot[i]}).second);
    }
  }
}

TEST(PlanBatch, HotTouchesEverySlotThatIsTimed) {
  const ArenaPlan plan = PlanArena(GemmBytes(64, 64, 64), 2.0, kH200);
  Random random(3, "hot");
  const auto assignments = Draw(plan, random);
  const BatchPlan batch = PlanBatch(plan, Mode::kDeviceHot, assignments, kAll, random);
  std::set<int> touched;
  for (const PlannedLaunch& launch : batch.touch) touched.insert(launch.slot[0]);
  for (const PlannedLaunch& launch : batch.timed) EXPECT_TRUE(touched.contains(launch.slot[0]));
}

TEST(PlanBatch, DrawsAnotherOrderEachTime) {
  const ArenaPlan plan = PlanArena(GemmBytes(64, 64, 64), 2.0, kH200);
  Random random(4, "order");
  const auto assignments = Draw(plan, random);
  const BatchPlan first = PlanBatch(plan, Mode::kDeviceHot, assignments, kAll, random);
  const BatchPlan second = PlanBatch(plan, Mode::kDeviceHot, assignments, kAll, random);
  int same = 0;
  for (size_t i = 0; i < first.timed.size(); ++i) {
    same += first.timed[i].content == second.timed[i].content;
  }
  EXPECT_LT(same, static_cast<int>(first.timed.size()) / 2);
}

}  // namespace
}  // namespace warpsmith::judge
