#include "judge/statistics.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"

namespace warpsmith::judge {
namespace {

// Multiplicative noise as a GPU shows it: every process draws an offset that all its rounds share.
struct Noise {
  double between_processes = 0, within = 0;
};

ContenderTiming Simulated(Random& random, double us, const Noise& noise, int processes,
                          int rounds) {
  ContenderTiming timing;
  timing.name = "simulated";
  for (int process = 0; process < processes; ++process) {
    const double offset = noise.between_processes * random.Normal();
    for (int round = 0; round < rounds; ++round) {
      for (int sample = 0; sample < 2; ++sample) {
        const double log_us = std::log(us) + offset + noise.within * random.Normal();
        timing.samples.push_back({process, round, static_cast<float>(std::exp(log_us))});
      }
    }
  }
  return timing;
}

TEST(PairedLogRatios, PairsInsideOneRoundAndSkipsLoneOnes) {
  const std::vector<Sample> baseline = {{0, 0, 20}, {0, 1, 40}, {0, 2, 99}};
  const std::vector<Sample> candidate = {{0, 0, 10}, {0, 1, 20}};
  const std::vector<RoundLog> ratios = PairedLogRatios(baseline, candidate);
  ASSERT_EQ(ratios.size(), 2U);
  EXPECT_NEAR(ratios[0].value, std::log(2.0), 1e-12);
  EXPECT_NEAR(ratios[1].value, std::log(2.0), 1e-12);
}

TEST(EstimateOf, SaysNothingFromOneUnit) {
  const Estimate one_round = EstimateOf({{0, 0, 0.1}}, 0.99);
  EXPECT_NEAR(one_round.value, std::exp(0.1), 1e-12);
  EXPECT_TRUE(std::isinf(HalfWidth(one_round)));
  EXPECT_EQ(FindingOf(one_round.interval, 0.01), Finding::kNotShown);
  EXPECT_TRUE(std::isinf(HalfWidth(EstimateOf({}, 0.99))));
}

TEST(EstimateOf, KnownIntervalOfThreeRounds) {
  // mean 0, sd 0.01, n = 3: half width t(2, 0.995) * 0.01 / sqrt(3) with t = 9.92484.
  const Estimate estimate = EstimateOf({{0, 0, -0.01}, {0, 1, 0}, {0, 2, 0.01}}, 0.99);
  EXPECT_NEAR(HalfWidth(estimate), 9.92484 * 0.01 / std::sqrt(3.0), 1e-6);
}

TEST(IsKnownWellEnough, ByWidthOrAsALoser) {
  Protocol screened = Protocol::Screened().For(Form::kProgram);  // to 15 %
  EXPECT_TRUE(IsKnownWellEnough({1.0, {0.9, 1.1}}, screened));
  EXPECT_FALSE(IsKnownWellEnough({1.0, {0.8, 1.25}}, screened));
  EXPECT_TRUE(IsKnownWellEnough({0.2, {0.1, 0.4}}, screened));
  EXPECT_FALSE(IsKnownWellEnough({0.2, {0.05, 0.6}}, screened));
  EXPECT_FALSE(IsKnownWellEnough({3.0, {2.1, 4.2}}, screened)) << "a winner's place ends nothing";
  const Protocol certified = Protocol::Certified();
  EXPECT_FALSE(IsKnownWellEnough({0.2, {0.1, 0.4}}, certified));
}

TEST(FindingOf, BandBeatsSignificance) {
  EXPECT_EQ(FindingOf({1.001, 1.005}, 0.01), Finding::kSame);
  EXPECT_EQ(FindingOf({1.001, 1.015}, 0.01), Finding::kFaster);
  EXPECT_EQ(FindingOf({0.90, 0.95}, 0.01), Finding::kSlower);
  EXPECT_EQ(FindingOf({0.95, 1.05}, 0.01), Finding::kNotShown);
}

TEST(Compare, IntervalCoversTheTruthDespiteProcesses) {
  Random random(7, "coverage");
  constexpr int kTrials = 4000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Noise noise{0.004, 0.006};
    const ContenderTiming baseline = Simulated(random, 12.0, noise, 5, 4);
    const ContenderTiming candidate = Simulated(random, 10.0, noise, 5, 4);
    const Comparison comparison = Compare(baseline, candidate, 0.99, 0.01);
    covered += comparison.interval.lo <= 1.2 && 1.2 <= comparison.interval.hi;
  }
  EXPECT_GE(covered, kTrials * 0.983);
  EXPECT_LE(covered, kTrials * 0.998) << "intervals wider than they need to be";
}

TEST(Compare, OneProcessCoversWhatItCanSee) {
  Random random(8, "coverage");
  constexpr int kTrials = 4000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Comparison comparison = Compare(Simulated(random, 12.0, {0, 0.006}, 1, 5),
                                          Simulated(random, 10.0, {0, 0.006}, 1, 5), 0.99, 0.01);
    covered += comparison.interval.lo <= 1.2 && 1.2 <= comparison.interval.hi;
  }
  EXPECT_GE(covered, kTrials * 0.983);
}

TEST(Compare, AgainstItselfRarelyFindsADifference) {
  Random random(9, "aa");
  constexpr int kTrials = 4000;
  int wrong = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Noise noise{0.005, 0.01};
    const Comparison comparison = Compare(Simulated(random, 5.0, noise, 4, 3),
                                          Simulated(random, 5.0, noise, 4, 3), 0.99, 0.01);
    wrong += comparison.finding == Finding::kFaster || comparison.finding == Finding::kSlower;
  }
  EXPECT_LE(wrong, kTrials * 0.015);
}

TEST(Summarise, GivesTheMedianOfAllSamples) {
  ContenderTiming timing{"candidate", 0, {}, {{0, 0, 1}, {0, 0, 3}, {0, 1, 2}}};
  Summarise(timing, 0.99);
  EXPECT_EQ(timing.median_us, 2);
  EXPECT_LE(timing.interval_us.lo, 2);
  EXPECT_GE(timing.interval_us.hi, 2);
}

}  // namespace
}  // namespace warpsmith::judge
