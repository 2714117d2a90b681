#include "judge/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/median.h"

namespace warpsmith::judge {
namespace {

using RoundKey = std::pair<int, int>;  // process, round

// The median and not the mean: one batch that an interrupt disturbed must not move its round.
std::map<RoundKey, double> MedianByRound(const std::vector<Sample>& samples) {
  std::map<RoundKey, std::vector<double>> grouped;
  for (const Sample& sample : samples) grouped[{sample.process, sample.round}].push_back(sample.us);
  std::map<RoundKey, double> medians;
  for (auto& [key, values] : grouped) medians[key] = Median(std::move(values));
  return medians;
}

// One value for each independent unit: the processes' medians, or the rounds of a lone process.
std::vector<double> IndependentUnits(const std::vector<RoundLog>& rounds) {
  std::map<int, std::vector<double>> by_process;
  for (const RoundLog& round : rounds) by_process[round.process].push_back(round.value);
  if (by_process.size() == 1) return by_process.begin()->second;
  std::vector<double> units;
  for (auto& [process, values] : by_process) units.push_back(Median(std::move(values)));
  return units;
}

// Two-sided, with one degree of freedom less than there are units (at least 2).
double StudentQuantile(double confidence, size_t units) {
  const boost::math::students_t distribution(static_cast<double>(units - 1));
  return boost::math::quantile(distribution, 0.5 + confidence / 2);
}

}  // namespace

std::vector<RoundLog> RoundMedians(const std::vector<Sample>& samples) {
  std::vector<RoundLog> rounds;
  for (const auto& [key, us] : MedianByRound(samples)) {
    rounds.push_back({key.first, key.second, std::log(us)});
  }
  return rounds;
}

// Ratios are compared by their logarithms, so that 2 times faster and 2 times slower weigh the
// same. A round in which one of the two has no sample is left out: it has nothing to be paired
// with.
std::vector<RoundLog> PairedLogRatios(const std::vector<Sample>& baseline,
                                      const std::vector<Sample>& candidate) {
  const std::map<RoundKey, double> candidate_us = MedianByRound(candidate);
  std::vector<RoundLog> rounds;
  for (const auto& [key, us] : MedianByRound(baseline)) {
    const auto found = candidate_us.find(key);
    if (found == candidate_us.end()) continue;
    rounds.push_back({key.first, key.second, std::log(us / found->second)});
  }
  return rounds;
}

Estimate EstimateOf(const std::vector<RoundLog>& rounds, double confidence) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (rounds.empty()) return {0, {0, kInfinity}};
  const std::vector<double> units = IndependentUnits(rounds);
  const auto count = static_cast<double>(units.size());
  double mean = 0;
  for (double unit : units) mean += unit / count;
  if (units.size() < 2) return {std::exp(mean), {0, kInfinity}};
  double squares = 0;
  for (double unit : units) squares += (unit - mean) * (unit - mean);
  const double standard_error = std::sqrt(squares / (count - 1) / count);
  const double half = StudentQuantile(confidence, units.size()) * standard_error;
  return {std::exp(mean), {std::exp(mean - half), std::exp(mean + half)}};
}

double HalfWidth(const Estimate& estimate) {
  if (!std::isfinite(estimate.interval.hi) || estimate.interval.lo <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  return 0.5 * std::log(estimate.interval.hi / estimate.interval.lo);
}

bool IsKnownWellEnough(const Estimate& ratio, const Protocol& protocol) {
  constexpr double kLost = 0.5;
  if (HalfWidth(ratio) <= protocol.target_half_width) return true;
  return protocol.level == Level::kScreened && ratio.interval.hi < kLost;
}

// The band comes first. With many samples an interval excludes 1 for a difference that is too small
// to matter; inside the band that is "the same".
Finding FindingOf(const Interval& ratio, double band) {
  if (ratio.lo >= 1 - band && ratio.hi <= 1 + band) return Finding::kSame;
  if (ratio.lo > 1) return Finding::kFaster;
  if (ratio.hi < 1) return Finding::kSlower;
  return Finding::kNotShown;
}

Comparison Compare(const ContenderTiming& baseline, const ContenderTiming& candidate,
                   double confidence, double band) {
  const Estimate estimate =
      EstimateOf(PairedLogRatios(baseline.samples, candidate.samples), confidence);
  return {baseline.name, estimate.value, estimate.interval, FindingOf(estimate.interval, band)};
}

void Summarise(ContenderTiming& timing, double confidence) {
  if (timing.samples.empty()) return;
  const std::vector<RoundLog> rounds = RoundMedians(timing.samples);
  std::vector<double> all;
  for (const Sample& sample : timing.samples) all.push_back(sample.us);
  timing.median_us = Median(std::move(all));
  timing.interval_us = EstimateOf(rounds, confidence).interval;
}

}  // namespace warpsmith::judge
