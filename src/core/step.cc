#include "core/step.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/median.h"

namespace warpsmith {
namespace {

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

using Round = std::pair<int, int>;  // process, round

std::map<Round, double> MedianByRound(const ContenderTiming& contender) {
  std::map<Round, std::vector<double>> samples;
  for (const Sample& sample : contender.samples) {
    samples[{sample.process, sample.round}].push_back(sample.us);
  }
  std::map<Round, double> medians;
  for (auto& [round, values] : samples) medians[round] = Median(std::move(values));
  return medians;
}

// t_ref / t_custom of every round in which both were timed.
std::vector<double> RatiosByRound(const ModeTiming& timing, const std::string& bar) {
  std::vector<double> ratios;
  const auto baseline = std::ranges::find(timing.baselines, bar, &ContenderTiming::name);
  if (baseline == timing.baselines.end()) return ratios;
  const std::map<Round, double> reference = MedianByRound(*baseline);
  for (const auto& [round, us] : MedianByRound(timing.candidate)) {
    const auto found = reference.find(round);
    if (found != reference.end() && us > 0) ratios.push_back(found->second / us);
  }
  return ratios;
}

}  // namespace

RewardTerms TermsOf(const Candidate& candidate, const Verdict& verdict, Mode mode) {
  RewardTerms terms;
  terms.code_length_bytes = CodeLength(candidate);
  if (FindTiming(verdict, mode) == nullptr) return terms;
  terms.deviations = std::get<Passed>(verdict.outcome).correctness.max_deviation;
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return terms;
  const Comparison& bar = timing->comparisons.front();
  terms.ratios = RatiosByRound(*timing, bar.baseline);
  if (terms.ratios.empty()) terms.ratios = {bar.ratio};  // raw samples were not kept
  return terms;
}

double Reward(const RewardTerms& terms, const RewardWeights& weights) {
  if (terms.ratios.empty()) return 0;
  return Mean(terms.ratios) - weights.alpha * Mean(terms.deviations) -
         weights.beta * static_cast<double>(terms.code_length_bytes);
}

Cost operator+(const Cost& a, const Cost& b) {
  return {a.evaluations + b.evaluations, a.gpu_seconds + b.gpu_seconds,
          a.wall_seconds + b.wall_seconds, a.tokens + b.tokens, a.money + b.money};
}

std::optional<std::string> ReachedLimit(const Budget& budget, const Cost& spent) {
  if (spent.evaluations >= budget.evaluations) return "evals";
  if (spent.gpu_seconds >= budget.gpu_seconds) return "gpu";
  if (spent.wall_seconds >= budget.wall_seconds) return "time";
  if (spent.tokens >= budget.tokens) return "tokens";
  if (spent.money >= budget.money) return "money";
  return std::nullopt;
}

}  // namespace warpsmith
