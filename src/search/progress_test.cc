#include "search/progress.h"

#include <gtest/gtest.h>

namespace warpsmith::search {
namespace {

Step StepOf(const Outcome& outcome) {
  Step step;
  step.verdict.outcome = outcome;
  step.cost = {1, 0.5, 1, 0, 0};
  return step;
}

TEST(ProgressTest, EstimatesFromTheNearestLimit) {
  Budget budget;
  budget.evaluations = 10;
  ProgressTracker tracker("run", Mode::kDeviceHot, budget, 1000);
  EXPECT_FALSE(tracker.progress().seconds_left.has_value());
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 2);
  EXPECT_DOUBLE_EQ(*tracker.progress().seconds_left, 18);
  budget.gpu_seconds = 1;
  ProgressTracker limited("run", Mode::kDeviceHot, budget, 1000);
  limited.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 2);
  EXPECT_DOUBLE_EQ(*limited.progress().seconds_left, 2);
}

TEST(ProgressTest, ReplayedStepsCountButSayNothingOfThePace) {
  ProgressTracker tracker("run", Mode::kDeviceHot, {}, 60);
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kReplayed, 0.1);
  EXPECT_EQ(tracker.progress().evaluations, 1);
  EXPECT_FALSE(tracker.progress().seconds_left.has_value());
}

TEST(ProgressTest, CountsOutcomesByName) {
  ProgressTracker tracker("run", Mode::kDeviceHot, {}, 60);
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 1);
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 2);
  tracker.Add(StepOf(TimedOut{"run", 10}), ProgressTracker::Origin::kNew, 3);
  EXPECT_EQ(tracker.progress().outcomes.at("rejected"), 2);
  tracker.Add(StepOf(Rejected{std::string(kDeclinedRule), "cannot apply"}),
              ProgressTracker::Origin::kNew, 5);
  EXPECT_EQ(tracker.progress().outcomes.at("declined"), 1);
  EXPECT_EQ(tracker.progress().outcomes.size(), 3U);
  EXPECT_FALSE(tracker.progress().best_ratio.has_value());
}

}  // namespace
}  // namespace warpsmith::search
