#include "agent/node.h"

#include <algorithm>
#include <cmath>

#include "store/verdict_parts.h"

namespace warpsmith::agent {
namespace {

// The part cannot have become faster than this, nor slower than its inverse: beyond it the share
// was wrong.
constexpr double kSmallestPart = 0.02;

// The reward, of numbers as a recording keeps them.
double WorthOf(const Step& step, const RewardShape& shape) {
  RewardFacts facts = RewardFactsOf(step.candidate, step.verdict);
  facts.deviation = store::Rounded(facts.deviation);
  if (facts.mean_ratio) facts.mean_ratio = store::Rounded(*facts.mean_ratio);
  facts.interval = {store::Rounded(facts.interval.lo), store::Rounded(facts.interval.hi)};
  for (Interval& one : facts.each) one = {store::Rounded(one.lo), store::Rounded(one.hi)};
  return ShapeReward(facts, shape).value.value_or(0);
}

}  // namespace

std::optional<Node> NodeOf(const Step& step, Mode mode, const RewardShape& reward) {
  if (!std::holds_alternative<Passed>(step.verdict.outcome)) return std::nullopt;
  const ModeTiming* timing = FindComparison(step.verdict, mode);
  if (timing == nullptr) timing = FindTiming(step.verdict, mode);
  if (timing == nullptr || !(timing->candidate.median_us > 0)) return std::nullopt;
  Node node;
  node.step = step.index;
  node.candidate = step.candidate;
  node.id = CandidateId(step.candidate);
  node.technique = step.candidate.provenance.technique;
  node.toolchain = step.verdict.evidence.toolchain;
  node.time_us = store::Rounded(timing->candidate.median_us);
  node.score = -std::log(node.time_us);
  if (!timing->comparisons.empty() && timing->comparisons.front().ratio > 0) {
    const Comparison& primary = timing->comparisons.front();
    node.ratio = store::Rounded(primary.ratio);
    node.interval = {store::Rounded(primary.interval.lo), store::Rounded(primary.interval.hi)};
    node.score = std::log(*node.ratio);
  }
  node.worth = reward == kSearchReward ? node.score : WorthOf(step, reward);
  return node;
}

double WholeLogGain(double part_log_gain, double share) {
  return -std::log((1 - share) + share * std::exp(-part_log_gain));
}

double PartLogGain(double whole_log_gain, double share) {
  const double part = (std::exp(-whole_log_gain) - (1 - share)) / share;
  if (part < kSmallestPart) return whole_log_gain;
  return -std::log(std::min(part, 1 / kSmallestPart));
}

}  // namespace warpsmith::agent
