#include "agent/forest.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/knowledge/knowledge_text.h"

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

class SelectionTest : public testing::Test {
 protected:
  SelectionTest() {
    EXPECT_TRUE(base_->Take(knowledge::Seed()).ok());
    EXPECT_TRUE(base_->Add(OwnIdea()).ok());
    problem_.context = {"sm_90a", "f16", "nvrtc 13.0", ""};
    problem_.task = "task";
    node_.kernels = {{"memory-bandwidth", 0, "first", 0.7}, {"tail", 1, "second", 0.3}};
  }

  std::vector<TechniqueOption> Selected(size_t k, uint64_t seed) {
    Random random(seed, "test");
    return Select(*base_, problem_, node_, k, random).value();
  }
  void Record(const std::string& state, const std::string& technique, double log_gain, int times) {
    for (int i = 0; i < times; ++i) {
      knowledge::Outcome outcome;
      outcome.evidence = "run:x#" + std::to_string(next_++);
      outcome.state = state;
      outcome.technique = technique;
      outcome.context = problem_.context;
      outcome.task = "another";
      outcome.log_gain = log_gain;
      EXPECT_TRUE(base_->Record(outcome).value());
    }
  }

  std::unique_ptr<knowledge::KnowledgeBase> base_ =
      knowledge::KnowledgeBase::Open(":memory:", store::Durability::kProcessDeath,
                                     store::WhenMissing::kCreate)
          .value();
  SelectionContext problem_;
  Node node_;
  int next_ = 0;
};

TEST_F(SelectionTest, IsTheSameForTheSameStream) {
  const auto first = Selected(5, 3), again = Selected(5, 3);
  ASSERT_EQ(first.size(), 5U);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].technique, again[i].technique);
    EXPECT_EQ(first[i].sampled_value, again[i].sampled_value);
  }
}

TEST_F(SelectionTest, WhatHelpedMuchIsTakenMostly) {
  Record("memory-bandwidth", "vectorized-access", 0.9, 12);
  std::map<std::string, int> taken;
  for (uint64_t seed = 0; seed < 50; ++seed) ++taken[Selected(1, seed).at(0).technique];
  EXPECT_GT(taken["vectorized-access"], 40);
}

TEST_F(SelectionTest, FarBelowTheBarAnOwnIdeaIsTakenMostly) {
  const auto own_ideas = [&](double ratio) {
    node_.ratio = ratio;
    int taken = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) taken += Selected(1, seed)[0].technique == kOwnIdea;
    return taken;
  };
  EXPECT_GT(own_ideas(0.001), 40);
  EXPECT_LT(own_ideas(0.95), 25);
  EXPECT_EQ(own_ideas(0.95), own_ideas(3));
}

// The same gain on a third of the time is worth less than on two thirds.
TEST_F(SelectionTest, AGainIsWorthItsShareOfTheTime) {
  Record("memory-bandwidth", "vectorized-access", 0.7, 30);
  Record("tail", "smaller-tiles", 0.7, 30);
  int first = 0, second = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const TechniqueOption option = Selected(1, seed).at(0);
    first += option.technique == "vectorized-access" ? 1 : 0;
    second += option.technique == "smaller-tiles" ? 1 : 0;
    EXPECT_EQ(option.share, option.state == "tail" && option.technique != kOwnIdea ? 0.3
                            : option.technique == kOwnIdea || option.technique == "kernel-fusion"
                                ? 1
                                : 0.7)
        << option.technique;
  }
  EXPECT_GT(first, 4 * second);
}

TEST_F(SelectionTest, NothingIsTriedTwiceOnOneKernel) {
  const std::vector<TechniqueOption> all = Selected(100, 1);
  for (const TechniqueOption& one : all) node_.tried.push_back({one.technique, one.target, "1x"});
  const std::vector<TechniqueOption> left = Selected(100, 1);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].technique, kOwnIdea) << "another idea may always be had";
  node_.tried.push_back({std::string(kOwnIdea), "", ""});
  EXPECT_TRUE(Selected(100, 1).empty()) << "but not two at once";
}

TEST_F(SelectionTest, WhatHungOnThisTaskIsNotRepeated) {
  knowledge::Outcome hung;
  hung.evidence = "run:x#0";
  hung.state = "memory-bandwidth";
  hung.technique = "vectorized-access";
  hung.context = problem_.context;
  hung.task = problem_.task;
  hung.failure = knowledge::Failure::kHang;
  ASSERT_TRUE(base_->Record(hung).ok());
  for (const TechniqueOption& one : Selected(100, 1)) {
    EXPECT_FALSE(one.technique == "vectorized-access" && one.state == "memory-bandwidth");
  }
}

TEST_F(SelectionTest, FusionIsForTwoNeighbours) {
  bool found = false;
  for (const TechniqueOption& one : Selected(100, 1)) {
    if (one.technique != "kernel-fusion") continue;
    found = true;
    EXPECT_EQ(one.target, "kernels 1 and 2, made into one");
    EXPECT_EQ(one.share, 1);
  }
  EXPECT_TRUE(found);
}

TEST_F(SelectionTest, OneKernelHasNothingToFuseWith) {
  node_.kernels.resize(1);
  for (const TechniqueOption& one : Selected(100, 1)) EXPECT_NE(one.technique, "kernel-fusion");
}

TEST_F(SelectionTest, AnUnknownStateMayTryEverything) {
  node_.kernels = {{"brand-new", std::nullopt, "", 1}};
  ASSERT_TRUE(base_->Add(knowledge::State{"brand-new", knowledge::Origin::kDiscovered, ""}).ok());
  EXPECT_EQ(Selected(100, 1).size(), knowledge::Seed().techniques.size() + 1);
}

// Two rollouts that stand on the first kernel; the first one's step led to a kernel of this gain.
class ForestTest : public testing::Test {
 protected:
  int WhereTheOtherStandsAfter(double log_gain) {
    Settings settings;
    settings.breadth = 2;
    Forest forest(settings, SelectionContext(), 1, std::nullopt);
    forest.Add(Node(), 0);
    forest.Advance();
    Node better;
    better.step = 1;
    better.parent = 0;
    better.score = better.worth = log_gain;
    forest.Add(better, 0);
    forest.Advance();
    EXPECT_EQ(forest.rollouts()[0].node, 1);
    return forest.rollouts()[1].node;
  }
};

TEST_F(ForestTest, ARolloutGoesItsOwnWayUntilItIsLeftBehind) {
  EXPECT_EQ(WhereTheOtherStandsAfter(0.5), 0);
  EXPECT_EQ(WhereTheOtherStandsAfter(3), 1) << "its own kernel takes twenty times as long";
}

}  // namespace

}  // namespace warpsmith::agent
