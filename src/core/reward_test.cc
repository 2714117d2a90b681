#include "core/reward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "core/tests/gemm_example.h"

namespace warpsmith {
namespace {

constexpr std::array kForms = {RewardForm::kRaw, RewardForm::kEq3, RewardForm::kSmoothed,
                               RewardForm::kOrdinal, RewardForm::kLog};

RewardFacts PassedWith(Interval interval, double deviation = 0, int64_t code_bytes = 0) {
  RewardFacts facts;
  facts.kind = RewardFacts::Kind::kPassed;
  facts.interval = interval;
  facts.ratio = facts.mean_ratio = (interval.lo + interval.hi) / 2;
  facts.each = {interval};
  facts.deviation = deviation;
  facts.code_bytes = code_bytes;
  return facts;
}
double Of(const RewardFacts& facts, const RewardShape& shape) {
  return ShapeReward(facts, shape).value.value();
}

TEST(RewardShape, IsRead) {
  const RewardShape shape = ParseRewardShape("alpha=0.5,form=log,clip=4,beta=1e-6").value();
  EXPECT_EQ(shape.form, RewardForm::kLog);
  EXPECT_EQ(shape.alpha, 0.5);
  EXPECT_EQ(shape.beta, 1e-6);
  EXPECT_EQ(shape.clip, 4);
  EXPECT_TRUE(ParseRewardShape("").ok());
  for (const char* bad : {"alpha", "alpha=", "alpha=x", "alpha=-1", "clip=1", "clip=inf", "form=up",
                          "gamma=1", "alpha=1,alpha=1", "alpha=nan", "beta=1 ", ","}) {
    EXPECT_FALSE(ParseRewardShape(bad).ok()) << bad;
  }
}

TEST(Reward, PaysTheEndOfTheIntervalThatIsNearestToNoGain) {
  EXPECT_EQ(EarnedRatio({1.2, 1.6}), 1.2);
  EXPECT_EQ(EarnedRatio({0.9, 1.6}), 1);
  EXPECT_EQ(EarnedRatio({0.5, 0.8}), 0.8);
  EXPECT_EQ(EarnedRatio({std::numeric_limits<double>::quiet_NaN(), 2}), 1);
  EXPECT_EQ(EarnedRatio({-3, -2}), 0);
  // The luckier of two measurements of the same kernel is not worth more than it showed.
  EXPECT_LT(Of(PassedWith({1.05, 3}), {}), Of(PassedWith({1.1, 1.2}), {}));
}

TEST(Reward, FormsAreThoseOfTheirSources) {
  const RewardFacts twice = PassedWith({2, 2.2});
  EXPECT_EQ(Of(twice, {.form = RewardForm::kEq3}), 2);
  EXPECT_EQ(Of(twice, {.form = RewardForm::kLog}), 1);
  EXPECT_DOUBLE_EQ(Of(twice, {.form = RewardForm::kSmoothed}), 0.6);
  EXPECT_EQ(Of(twice, {.form = RewardForm::kOrdinal}), 3);
  EXPECT_EQ(Of(PassedWith({9, 9.2}), {.form = RewardForm::kEq3, .clip = 4}), 4);
  RewardFacts some = twice;
  some.each.push_back({0.9, 0.95});
  EXPECT_EQ(Of(some, {.form = RewardForm::kOrdinal}), 2);
  EXPECT_EQ(Of(PassedWith({1.04, 1.2}), {.form = RewardForm::kOrdinal}), 1);
}

// Whatever the weights: unreadable < failed < passed without a gain < a gain.
TEST(Reward, KeepsTheOrderOfOutcomesWhateverIsTakenOff) {
  RewardFacts failed, unreadable, undecided;
  failed.kind = RewardFacts::Kind::kFailed;
  unreadable.kind = RewardFacts::Kind::kUnreadable;
  const double inf = std::numeric_limits<double>::infinity();
  for (const RewardForm form : kForms) {
    for (const double alpha : {0.0, 0.5, 1e9}) {
      const RewardShape shape{form, alpha, alpha, 3};
      EXPECT_LT(Of(unreadable, shape), Of(failed, shape));
      EXPECT_FALSE(ShapeReward(undecided, shape).value.has_value());
      for (const double deviation : {0.0, 0.1, 1e9, inf}) {
        const double slow = Of(PassedWith({0.0001, 0.001}, deviation, 1 << 20), shape);
        const double same = Of(PassedWith({0.9, 1.1}, deviation, 1 << 20), shape);
        EXPECT_LT(Of(failed, shape), slow);
        EXPECT_LE(slow, same);
        // A gain with all of it taken off still beats no gain with nothing taken off.
        EXPECT_GT(Of(PassedWith({1.06, 1.2}, deviation, 1 << 20), shape),
                  Of(PassedWith({0.9, 1.1}), shape));
      }
    }
  }
}

// Eq. 3 as it is written: every round counts, nothing is clipped, the whole length is paid for.
TEST(Reward, RawIsEq3) {
  const RewardFacts facts = RewardFactsOf(GemmCandidate(), GemmVerdict());
  EXPECT_DOUBLE_EQ(*facts.mean_ratio, 1.1);
  EXPECT_DOUBLE_EQ(Of(facts, kSearchReward), 1.1);
  const RewardShape shape{RewardForm::kRaw, 0.1, 1e-5};
  EXPECT_DOUBLE_EQ(Of(facts, shape),
                   1.1 - 0.1 * 0.5 - 1e-5 * static_cast<double>(facts.code_bytes));
  EXPECT_DOUBLE_EQ(Of(PassedWith({9, 11}), kSearchReward), 10);
  RewardFacts large = PassedWith({2, 2}, 0, 1000);
  EXPECT_DOUBLE_EQ(Of(large, {RewardForm::kRaw, 0, 1e-4}), 1.9);
}

TEST(Reward, OfAStepKnowsFailureFromNothingKnown) {
  const Candidate candidate = GemmCandidate();
  EXPECT_EQ(RewardOf(candidate, {Rejected{}, {}}, kSearchReward), kFailedReward);
  EXPECT_EQ(RewardOf(candidate, {Inconclusive{}, {}}, kSearchReward), 0);
  EXPECT_DOUBLE_EQ(RewardOf(candidate, GemmVerdict(), kSearchReward), 1.1);
}

TEST(Reward, IsPartOfTheProposersText) {
  EXPECT_EQ(ProposerText("guided", kSearchReward), "guided");
  const RewardShape shape{RewardForm::kLog, 0.25, 1e-6, 4};
  const std::string text = ProposerText("guided", shape);
  EXPECT_EQ(text, "guided, reward form=log,alpha=0.25,beta=1e-06,clip=4");
  EXPECT_EQ(RewardOfProposer(text), shape);
  EXPECT_EQ(RewardOfProposer("guided"), kSearchReward);
  EXPECT_EQ(RewardOfProposer("guided, reward of another version"), kSearchReward);
  EXPECT_EQ(ParseRewardShape("alpha=1", kSearchReward)->form, RewardForm::kRaw);
}

TEST(Reward, AlphaChangesTheWinner) {
  const RewardFacts fast = PassedWith({1.5, 1.6}, 0.5);
  const RewardFacts exact = PassedWith({1.4, 1.5}, 0.01);
  EXPECT_GT(Of(fast, {}), Of(exact, {}));
  EXPECT_LT(Of(fast, {.alpha = 0.5}), Of(exact, {.alpha = 0.5}));
}

TEST(Reward, CodeCostsAndCommentsDoNot) {
  Candidate terse = GemmCandidate();
  Candidate chatty = terse;
  chatty.sources.begin()->second += "   // why\n/* and\n how */   \n";
  const RewardFacts facts = RewardFactsOf(terse, GemmVerdict());
  EXPECT_EQ(RewardFactsOf(chatty, GemmVerdict()).code_bytes, facts.code_bytes);
  chatty.sources.begin()->second += "const char* s = \"// no comment\";\n";
  EXPECT_EQ(RewardFactsOf(chatty, GemmVerdict()).code_bytes,
            facts.code_bytes + 28);  // tokens, without the blanks between them
  EXPECT_NEAR(Of(facts, {.beta = 1e-5}), 1.05 - 1e-5 * static_cast<double>(facts.code_bytes),
              1e-12);
  EXPECT_NEAR(Of(facts, {.beta = 1}), 1.005, 1e-12);  // a tenth of the gain is kept
  RewardFacts large = PassedWith({2, 2}, 0, 1 << 30);
  EXPECT_NEAR(Of(large, {.beta = 1}), 1.95, 1e-12);
}

TEST(Reward, IsMadeOfTheVerdict) {
  const RewardFacts facts = RewardFactsOf(GemmCandidate(), GemmVerdict());
  EXPECT_EQ(facts.kind, RewardFacts::Kind::kPassed);
  EXPECT_EQ(facts.ratio, 1.1);
  EXPECT_EQ(facts.deviation, 0.5);
  const ShapedReward reward = ShapeReward(facts, {.alpha = 0.01});
  EXPECT_DOUBLE_EQ(*reward.value, 1.05 - 0.005);
  EXPECT_EQ(reward.terms.front().first, "earned");
  using Kind = RewardFacts::Kind;
  EXPECT_EQ(RewardFactsOf(GemmCandidate(), {Rejected{}, {}}).kind, Kind::kFailed);
  EXPECT_EQ(RewardFactsOf(GemmCandidate(), {Inconclusive{}, {}}).kind, Kind::kUndecided);
  EXPECT_EQ(Of(RewardFactsOf(GemmCandidate(), {Passed{}, {}}), {}), 1);  // compared with nothing
}

void LevelAll(std::span<RewardFacts> group) {
  std::vector<RewardFacts*> members;
  for (RewardFacts& one : group) members.push_back(&one);
  LevelGroup(members);
}

// Two groups whose members differ by less than their noise: no member has an advantage.
TEST(Reward, NoiseWithinAGroupGivesEqualRewards) {
  std::vector<std::vector<RewardFacts>> groups = {
      {PassedWith({1.20, 1.30}), PassedWith({1.25, 1.35}), PassedWith({1.22, 1.28})},
      {PassedWith({0.70, 0.80}), PassedWith({0.75, 0.85})}};
  groups[1].emplace_back().kind = RewardFacts::Kind::kFailed;
  for (auto& group : groups) LevelAll(group);
  for (const RewardForm form : kForms) {
    EXPECT_EQ(Of(groups[0][0], {form}), Of(groups[0][1], {form}));
    EXPECT_EQ(Of(groups[0][0], {form}), Of(groups[0][2], {form}));
    EXPECT_EQ(Of(groups[1][0], {form}), Of(groups[1][1], {form}));
    EXPECT_LT(Of(groups[1][2], {form}), Of(groups[1][1], {form}));
  }
  EXPECT_EQ(Of(groups[0][0], {}), 1.25);
}

std::vector<double> EarnedInAGroup(std::vector<Interval> intervals) {
  std::vector<RewardFacts> facts;
  for (const Interval& interval : intervals) facts.push_back(PassedWith(interval));
  LevelAll(facts);
  std::vector<double> earned;
  for (const RewardFacts& one : facts) earned.push_back(Of(one, {}));
  return earned;
}

TEST(Reward, AWorseNeighbourLowersNobody) {
  EXPECT_EQ(EarnedInAGroup({{0.94, 0.99}, {0.97, 1.03}}), (std::vector<double>{1, 1}));
}

TEST(Reward, AWideIntervalIsNotPaidForReachingTheBest) {
  const std::vector<double> earned =
      EarnedInAGroup({{1.065, 1.0997}, {0.8737, 1.0863}, {1.0425, 1.0503}});
  EXPECT_EQ(earned, (std::vector<double>{1.065, 1, 1.0425}));
}

TEST(Reward, AMemberThatIsTimedLessSteadilyGainsNoMore) {
  for (const double other : {0.97, 1.04, 1.05, 1.06, 1.1, 1.3}) {
    for (const double half : {0.002, 0.01, 0.03, 0.1}) {
      double before = std::numeric_limits<double>::infinity();
      for (const double own : {0.0, 0.002, 0.01, 0.03, 0.1}) {
        const double gain = std::max(
            1.0, EarnedInAGroup(
                     {{1.05 - own, 1.05 + own}, {other - half, other + half}, {1.03, 1.05}})[0]);
        EXPECT_LE(gain, before) << own << " " << other << " " << half;
        before = gain;
      }
    }
  }
}

TEST(Reward, ACopyOfWhatWasShownGainsNothing) {
  for (const RewardForm form : kForms) {
    RewardFacts copy = PassedWith({2, 2.2});
    const double own = Of(copy, {form});
    copy.was_shown = true;
    EXPECT_LT(Of(copy, {form}), own);
    EXPECT_EQ(Of(copy, {form}), Of(PassedWith({1, 1}), {form}));
    RewardFacts slow = PassedWith({0.5, 0.6});
    const double slow_own = Of(slow, {form});
    slow.was_shown = true;
    EXPECT_EQ(Of(slow, {form}), slow_own);
  }
}

TEST(Reward, OneSlowMemberDoesNotTellTheOthersApart) {
  std::array<RewardFacts, 5> facts = {PassedWith({0.5, 0.6}),
                                      PassedWith({1.05, 1.09}),
                                      PassedWith({1.07, 1.1}),
                                      PassedWith({0.55, 0.7}),
                                      {}};
  LevelAll(facts);
  for (const RewardForm form : kForms) {
    EXPECT_EQ(Of(facts[1], {form}), Of(facts[2], {form}));
    EXPECT_EQ(Of(facts[0], {form}), Of(facts[3], {form}));
    EXPECT_LT(Of(facts[0], {form}), Of(facts[1], {form}));
  }
}

TEST(Reward, ARealDifferenceWithinAGroupStays) {
  EXPECT_EQ(EarnedInAGroup({{1.1, 1.2}, {1.3, 1.4}}), (std::vector<double>{1.1, 1.3}));
}

}  // namespace
}  // namespace warpsmith
