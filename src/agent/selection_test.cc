#include "agent/selection.h"

#include <gmock/gmock.h>

#include <map>

#include "agent/knowledge/knowledge_text.h"

namespace warpsmith::agent {
namespace {

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

}  // namespace
}  // namespace warpsmith::agent
