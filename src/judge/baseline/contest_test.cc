#include "judge/baseline/contest.h"

#include <gmock/gmock.h>

#include <map>

namespace warpsmith::baseline {
namespace {

TEST(RunContest, FindsTheFastestDespiteNoise) {
  Random order(1, "order"), noise(2, "noise");
  const ContestResult result = RunContest(40, 9, order, [&](int i) -> Result<double> {
                                 return (10 + std::abs(i - 23)) * (1 + 0.02 * noise.Uniform());
                               }).value();
  EXPECT_EQ(result.winner, 23);
  EXPECT_NEAR(result.medians_us[result.winner], 10.1, 0.1);
}

TEST(RunContest, TheHopelessAreTimedOnce) {
  Random order(1, "order");
  std::map<int, int> timed;
  const auto result = RunContest(3, 5, order, [&](int i) -> Result<double> {
    ++timed[i];
    return i == 1 ? 100 : 10;
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(timed[0], 5);
  EXPECT_EQ(timed[1], 1);
  EXPECT_EQ(timed[2], 5);
  EXPECT_THAT(result->medians_us, ::testing::ElementsAre(10, 100, 10));
}

TEST(RunContest, HopelessIsWhoIsSlowInItsOwnGroup) {
  Random order(1, "order");
  std::map<int, int> timed;
  const auto result = RunContest(4, 5, order,
                                 [&](int i) -> Result<double> {
                                   ++timed[i];
                                   return i < 2 ? 10 + 10 * i : 100 + 50 * (i - 2);
                                 },
                                 {0, 0, 1, 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->winner, 0);
  EXPECT_EQ(timed[0], 5);
  EXPECT_EQ(timed[1], 1);
  EXPECT_EQ(timed[2], 5);
  EXPECT_EQ(timed[3], 1);
}

TEST(RunContest, TheOrderChangesFromRoundToRound) {
  Random order(1, "order");
  std::vector<int> sequence;
  (void)RunContest(20, 2, order, [&](int i) -> Result<double> {
    sequence.push_back(i);
    return 1;
  });
  ASSERT_EQ(sequence.size(), 40U);
  EXPECT_FALSE(std::equal(sequence.begin(), sequence.begin() + 20, sequence.begin() + 20));
}

TEST(RunContest, OneSlowFirstSampleDoesNotDecideAgainstTheBest) {
  Random order(1, "order");
  std::map<int, int> timed;
  const ContestResult result = RunContest(2, 5, order, [&](int i) -> Result<double> {
                                 const double us = i == 0 ? 10 : 11;
                                 return timed[i]++ == 0 && i == 0 ? us * 1.25 : us;
                               }).value();
  EXPECT_EQ(result.winner, 0);
}

TEST(RunContest, AnErrorEndsIt) {
  Random order(1, "order");
  const auto result = RunContest(2, 3, order, [](int) -> Result<double> {
    return Error{ErrorCode::kIo, "gone", ""};
  });
  EXPECT_FALSE(result.ok());
}

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace warpsmith::baseline
