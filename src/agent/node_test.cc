#include "agent/node.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace warpsmith::agent {
namespace {

Step Passing(double us, std::optional<double> ratio) {
  ModeTiming timing;
  timing.candidate.median_us = us;
  if (ratio) timing.comparisons = {{"bar", *ratio, {*ratio - 0.01, *ratio + 0.01}}};
  Passed passed;
  passed.timings = {{"w", {timing}}};
  Step step;
  step.index = 7;
  step.candidate.sources["k.cu"] = "code";
  step.candidate.provenance.technique = "split-k";
  step.verdict.outcome = passed;
  return step;
}

TEST(Node, ScoresByTheRatioAndElseByTheTime) {
  const auto fast = NodeOf(Passing(10, 1.25), Mode::kDeviceHot);
  ASSERT_TRUE(fast.has_value());
  EXPECT_DOUBLE_EQ(fast->score, std::log(1.25));
  EXPECT_EQ(fast->technique, "split-k");
  EXPECT_EQ(fast->step, 7);
  EXPECT_DOUBLE_EQ(NodeOf(Passing(10, {}), Mode::kDeviceHot)->score, -std::log(10));
}

TEST(Node, IsChosenByTheRunsReward) {
  const Step step = Passing(10, 1.25);
  EXPECT_DOUBLE_EQ(NodeOf(step, Mode::kDeviceHot)->worth, std::log(1.25));
  Step exact = Passing(10, 1.2), rough = step;
  std::get<Passed>(rough.verdict.outcome).correctness.max_deviation = {0.5};
  const RewardShape shape{RewardForm::kRaw, 0.2};
  EXPECT_GT(NodeOf(rough, Mode::kDeviceHot)->worth, NodeOf(exact, Mode::kDeviceHot)->worth);
  EXPECT_LT(NodeOf(rough, Mode::kDeviceHot, shape)->worth,
            NodeOf(exact, Mode::kDeviceHot, shape)->worth);
}

TEST(Node, OnlyPassedStepsWithTimesAreNodes) {
  Step step = Passing(10, 1.25);
  step.verdict.outcome = Incorrect{"bound", "off"};
  EXPECT_FALSE(NodeOf(step, Mode::kDeviceHot).has_value());
  step.verdict.outcome = Passed{};
  EXPECT_FALSE(NodeOf(step, Mode::kDeviceHot).has_value());
  EXPECT_FALSE(NodeOf(Passing(0, 1.25), Mode::kDeviceHot).has_value());
}

// A recording keeps nine digits: what is computed from it has to be the same.
TEST(Node, TakesNumbersAsRecordingsKeepThem) {
  const auto exact = NodeOf(Passing(10.123456789012, 1.234567890123), Mode::kDeviceHot);
  const auto recorded = NodeOf(Passing(10.1234568, 1.23456789), Mode::kDeviceHot);
  EXPECT_EQ(exact->score, recorded->score);
  EXPECT_EQ(exact->time_us, recorded->time_us);
}

TEST(Gain, HalfOfTheTimeTwiceAsFastIsAQuarterLess) {
  EXPECT_NEAR(WholeLogGain(std::log(2), 0.5), -std::log(0.75), 1e-12);
  EXPECT_NEAR(WholeLogGain(0.3, 1), 0.3, 1e-12);
}

RC_GTEST_PROP(Gain, OfAPartAndOfTheWholeAgree, ()) {
  const double share = *rc::gen::inRange(5, 101) / 100.0;
  const double gain = *rc::gen::inRange(-100, 101) / 100.0;
  RC_ASSERT(std::abs(PartLogGain(WholeLogGain(gain, share), share) - gain) < 1e-9);
}

// A share that was wrong must not become a claim without bounds.
TEST(Gain, IsTheWholesWhereTheShareCannotExplainIt) {
  EXPECT_NEAR(PartLogGain(std::log(10), 0.05), std::log(10), 1e-9);
  EXPECT_NEAR(PartLogGain(std::log(1.95), 0.5), std::log(0.5 / (1 / 1.95 - 0.5)), 1e-9);
  EXPECT_NEAR(PartLogGain(-std::log(10), 0.01), -std::log(50), 1e-9);
}

}  // namespace
}  // namespace warpsmith::agent
