#include "core/reward.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "base/median.h"
#include "core/step.h"

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
std::vector<double> RatiosByRound(const ModeTiming& timing, const std::string& primary) {
  std::vector<double> ratios;
  const auto baseline = std::ranges::find(timing.baselines, primary, &ContenderTiming::name);
  if (baseline == timing.baselines.end()) return ratios;
  const std::map<Round, double> reference = MedianByRound(*baseline);
  for (const auto& [round, us] : MedianByRound(timing.candidate)) {
    const auto found = reference.find(round);
    if (found != reference.end() && us > 0) ratios.push_back(found->second / us);
  }
  return ratios;
}

constexpr double kLeastPassed = -0.9;  // of the forms that fall below 0
constexpr double kMostForLength = 0.05;
constexpr double kGainKept = 0.1;      // of a gain, whatever is taken off
constexpr double kOrdinalGain = 1.05;  // CUDA Agent: 5 % faster

// Bytes without comments and without blanks at the ends of lines: what is said about the code costs
// nothing.
int64_t BytesOfCode(std::string_view text) {
  int64_t bytes = 0, blanks = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (quote == 0 && (rest.starts_with("//") || rest.starts_with("/*"))) {
      const bool is_line = rest[1] == '/';
      const size_t end = text.find(is_line ? "\n" : "*/", i + 2);
      if (end == std::string_view::npos) break;
      i = is_line ? end - 1 : end + 1;
      continue;
    }
    if (c == '\n') blanks = quote = 0;
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      blanks += c == '\n' ? 0 : 1;
      continue;
    }
    if (c == '"' || c == '\'') quote = quote == 0 ? c : (quote == c ? '\0' : quote);
    bytes += 1 + std::exchange(blanks, 0);
    if (quote != 0 && c == '\\' && i + 1 < text.size()) {
      ++i;
      ++bytes;
    }
  }
  return bytes;
}

double Formed(double ratio, const RewardShape& shape) {
  switch (shape.form) {
    case RewardForm::kEq3:
      return std::min(ratio, shape.clip);
    case RewardForm::kSmoothed:
      return std::max(kLeastPassed, std::tanh(std::log(ratio)));
    case RewardForm::kLog:
      return std::max(kLeastPassed, std::log2(std::min(ratio, shape.clip)));
    case RewardForm::kOrdinal:
      break;
  }
  return 1;
}

double Ordinal(const RewardFacts& facts) {
  const auto is_beaten = [](const Interval& one) { return one.lo >= kOrdinalGain; };
  if (!facts.ratio || facts.interval.lo < kOrdinalGain) {
    return std::ranges::any_of(facts.each, is_beaten) ? 2 : 1;
  }
  return std::ranges::all_of(facts.each, is_beaten) ? 3 : 2;
}

Error BadShape(std::string_view text, const std::string& what) {
  return {ErrorCode::kUsage, "reward \"" + std::string(text) + "\": " + what,
          "write form=eq3|smoothed|ordinal|log, alpha=, beta= (from 0) and clip= (above 1), "
          "separated by commas"};
}

}  // namespace

RewardTerms TermsOf(const Candidate& candidate, const Verdict& verdict, Mode mode) {
  RewardTerms terms;
  terms.code_length_bytes = CodeLength(candidate);
  if (FindTiming(verdict, mode) == nullptr) return terms;
  terms.deviations = std::get<Passed>(verdict.outcome).correctness.max_deviation;
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return terms;
  const Comparison& primary = timing->comparisons.front();
  terms.ratios = RatiosByRound(*timing, primary.baseline);
  if (terms.ratios.empty()) terms.ratios = {primary.ratio};  // raw samples were not kept
  return terms;
}

double Reward(const RewardTerms& terms, const RewardWeights& weights) {
  if (terms.ratios.empty()) return 0;
  return Mean(terms.ratios) - weights.alpha * Mean(terms.deviations) -
         weights.beta * static_cast<double>(terms.code_length_bytes);
}

Result<RewardForm> RewardFormFrom(std::string_view name) {
  if (name == "eq3") return RewardForm::kEq3;
  if (name == "smoothed") return RewardForm::kSmoothed;
  if (name == "ordinal") return RewardForm::kOrdinal;
  if (name == "log") return RewardForm::kLog;
  return BadShape(name, "this form is not known");
}

Status CheckRewardShape(const RewardShape& shape) {
  const bool fits = shape.alpha >= 0 && shape.beta >= 0 && shape.clip > 1 &&
                    std::isfinite(shape.alpha + shape.beta + shape.clip);
  if (fits) return {};
  return BadShape("alpha, beta, clip", "a weight is below 0, or clip is not above 1");
}

Result<RewardShape> ParseRewardShape(std::string_view text) {
  RewardShape shape;
  std::set<std::string_view> seen;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view field = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = std::min(field.find('='), field.size());
    const std::string_view name = field.substr(0, equals);
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    if (!seen.insert(name).second) return BadShape(text, std::string(name) + " comes twice");
    if (name == "form") {
      shape.form = TRY(RewardFormFrom(value));
      continue;
    }
    double* const number = name == "alpha"  ? &shape.alpha
                           : name == "beta" ? &shape.beta
                           : name == "clip" ? &shape.clip
                                            : nullptr;
    if (number == nullptr) return BadShape(text, "it has no \"" + std::string(name) + "\"");
    const auto read = std::from_chars(value.data(), value.data() + value.size(), *number);
    if (read.ec != std::errc() || read.ptr != value.data() + value.size()) {
      return BadShape(text, std::string(name) + " is no number");
    }
  }
  TRY(CheckRewardShape(shape));
  return shape;
}

RewardFacts RewardFactsOf(const Candidate& candidate, const Verdict& verdict) {
  RewardFacts facts;
  if (std::holds_alternative<Inconclusive>(verdict.outcome)) return facts;
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  facts.kind = passed != nullptr ? RewardFacts::Kind::kPassed : RewardFacts::Kind::kFailed;
  if (passed == nullptr) return facts;
  facts.deviation = Mean(passed->correctness.max_deviation);
  for (const auto& [path, text] : candidate.sources) facts.code_bytes += BytesOfCode(text);
  if (passed->timings.empty() || passed->timings.front().modes.empty()) return facts;
  const Mode mode = passed->timings.front().modes.front().mode;
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return facts;
  facts.ratio = timing->comparisons.front().ratio;
  facts.interval = timing->comparisons.front().interval;
  for (const Comparison& one : timing->comparisons) facts.each.push_back(one.interval);
  return facts;
}

double EarnedRatio(const Interval& interval) {
  if (interval.lo > 1) return interval.lo;
  if (interval.hi < 1) return std::max(interval.hi, 0.0);
  return 1;  // NaN too: nothing was shown
}

void LevelGroup(std::span<RewardFacts* const> group) {
  std::optional<Interval> common;
  for (const RewardFacts* member : group) {
    if (member->kind != RewardFacts::Kind::kPassed) continue;
    if (!common) common = member->interval;
    common->lo = std::max(common->lo, member->interval.lo);
    common->hi = std::min(common->hi, member->interval.hi);
  }
  if (!common || common->lo > common->hi) return;
  for (RewardFacts* member : group) {
    if (member->kind == RewardFacts::Kind::kPassed) member->interval = *common;
  }
}

ShapedReward ShapeReward(const RewardFacts& facts, const RewardShape& shape) {
  switch (facts.kind) {
    case RewardFacts::Kind::kUndecided:
      return {};
    case RewardFacts::Kind::kUnreadable:
      return {kUnreadableReward, {}};
    case RewardFacts::Kind::kFailed:
      return {kFailedReward, {}};
    case RewardFacts::Kind::kPassed:
      break;
  }
  const bool is_ordinal = shape.form == RewardForm::kOrdinal;
  const double earned = EarnedRatio(facts.interval);
  const double speedup = is_ordinal ? Ordinal(facts) : Formed(earned, shape);
  const double none = Formed(1, shape);
  const double off = shape.alpha * facts.deviation +
                     std::min(shape.beta * static_cast<double>(facts.code_bytes), kMostForLength);
  // From a deviation that is no number nothing can be taken off but all that may be.
  const double penalty = is_ordinal ? 0 : std::isfinite(off) ? off : speedup - kFailedReward;
  const double least = speedup > none ? none + kGainKept * (speedup - none)
                                      : kFailedReward + kGainKept * (speedup - kFailedReward);
  ShapedReward reward;
  reward.value = std::max(speedup - penalty, least);
  reward.terms = {{"earned", earned},
                  {"speedup", speedup},
                  {"deviation", facts.deviation},
                  {"code_length", static_cast<double>(facts.code_bytes)},
                  {"penalty", penalty}};
  return reward;
}

}  // namespace warpsmith
