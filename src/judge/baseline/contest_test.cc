#include "judge/baseline/contest.h"

#include <gmock/gmock.h>

#include <map>

namespace warpsmith::baseline {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;

std::vector<int> OneGroup(int entrants) { return std::vector<int>(entrants, 0); }

TEST(RunContest, FindsTheFastestDespiteNoise) {
  Random order(1, "order"), noise(2, "noise");
  const auto time = [&](int i) -> Result<double> {
    return (10 + 0.5 * std::abs(i - 23)) * (1 + 0.02 * noise.Uniform());
  };
  const ContestResult result = RunContest(OneGroup(40), {}, order, time).value();
  EXPECT_EQ(result.winner, 23);
  EXPECT_NEAR(result.medians_us[result.winner], 10.1, 0.1);
}

TEST(RunContest, TheSlowerHalfLeavesAndTheLastFewMeetAgain) {
  Random order(1, "order");
  std::map<int, int> timed;
  const auto time = [&](int i) -> Result<double> {
    ++timed[i];
    return 10 + 0.1 * i;
  };
  const auto result = RunContest(OneGroup(12), {}, order, time);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->winner, 0);
  EXPECT_THAT(result->of_groups, ElementsAre(0));
  for (const int i : {0, 1, 2}) EXPECT_EQ(timed[i], 1 + 2 + 3) << i;
  for (const int i : {3, 4, 5}) EXPECT_EQ(timed[i], 1 + 2) << i;
  for (const int i : {6, 11}) EXPECT_EQ(timed[i], 1) << i;
}

TEST(RunContest, TheHopelessAreTimedOnceInTheirOwnGroup) {
  Random order(1, "order");
  std::map<int, int> timed;
  const auto time = [&](int i) -> Result<double> {
    ++timed[i];
    return i < 2 ? 10 + 10 * i : 100 + 50 * (i - 2);
  };
  const auto result = RunContest({0, 0, 1, 1}, {}, order, time);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->winner, 0);
  EXPECT_THAT(result->of_groups, ElementsAre(0, 2));
  EXPECT_EQ(timed[1], 1);
  EXPECT_EQ(timed[3], 1);
  EXPECT_EQ(timed[2], 4) << "slower than all of the other group, and still timed to the end";
}

TEST(RunContest, AGroupWithoutAnybodyHasNoWinner) {
  Random order(1, "order");
  const auto result = RunContest({0, 2}, {}, order, [](int i) -> Result<double> { return 5 - i; });
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->of_groups, ElementsAre(0, -1, 1));
  EXPECT_EQ(result->winner, 1);
}

TEST(RunContest, TheOrderChangesFromRoundToRound) {
  Random order(1, "order");
  std::vector<int> sequence;
  ContestRules rules;
  rules.finalists = 20;
  rules.last_rounds = 1;
  (void)RunContest(OneGroup(20), rules, order, [&](int i) -> Result<double> {
    sequence.push_back(i);
    return 1;
  });
  ASSERT_EQ(sequence.size(), 40U);
  EXPECT_FALSE(std::equal(sequence.begin(), sequence.begin() + 20, sequence.begin() + 20));
}

TEST(RunContest, OneSlowFirstSampleDoesNotDecideAgainstTheBest) {
  Random order(1, "order");
  std::map<int, int> timed;
  const auto time = [&](int i) -> Result<double> {
    const double us = i == 0 ? 10 : 11;
    return timed[i]++ == 0 && i == 0 ? us * 1.25 : us;
  };
  EXPECT_EQ(RunContest(OneGroup(2), {}, order, time)->winner, 0);
}

TEST(RunContest, EveryoneHasATime) {
  Random order(1, "order");
  const auto result =
      RunContest(OneGroup(50), {}, order, [](int i) -> Result<double> { return 1 + i; });
  ASSERT_EQ(result->medians_us.size(), 50U);
  EXPECT_THAT(result->medians_us, Each(Ge(1)));
}

TEST(RunContest, AnErrorEndsIt) {
  Random order(1, "order");
  const auto result = RunContest(OneGroup(2), {}, order, [](int) -> Result<double> {
    return Error{ErrorCode::kIo, "gone", ""};
  });
  EXPECT_FALSE(result.ok());
}

TEST(ContestId, NamesTheProtocolToo) { EXPECT_EQ(ContestId(), "j1/contest2"); }

}  // namespace
}  // namespace warpsmith::baseline
