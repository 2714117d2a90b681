#include "core/reward.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "base/median.h"
#include "core/cuda_tokens.h"
#include "core/verdict.h"

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

// t_ref / t_custom of every round in which both were timed, by the first comparison's baseline; its
// ratio where the raw samples were not kept.
std::vector<double> RatiosOf(const ModeTiming& timing) {
  const Comparison& primary = timing.comparisons.front();
  std::vector<double> ratios;
  if (const ContenderTiming* baseline = PrimaryOf(timing)) {
    const std::map<Round, double> reference = MedianByRound(*baseline);
    for (const auto& [round, us] : MedianByRound(timing.candidate)) {
      const auto found = reference.find(round);
      if (found != reference.end() && us > 0) ratios.push_back(found->second / us);
    }
  }
  if (ratios.empty()) ratios = {primary.ratio};
  return ratios;
}

// Of the forms that fall below 0: a kernel that passed, however slow, is worth more than one that
// failed (kFailedReward).
constexpr double kLeastPassed = -0.9;
constexpr double kMostForLength = 0.05;
constexpr double kGainKept = 0.1;      // of a gain, whatever is taken off
constexpr double kOrdinalGain = 1.05;  // CUDA Agent: 5 % faster

int64_t BytesOfCode(std::string_view text) {
  int64_t bytes = 0;
  // Of tokens: comments and white space cost nothing, so that no reward is earned by leaving them
  // out.
  const TokenList list = Tokenize(text);
  for (const Token& token : list.tokens) bytes += static_cast<int64_t>(token.text.size());
  return bytes;
}

double Formed(double ratio, const RewardShape& shape) {
  switch (shape.form) {
    case RewardForm::kRaw:
      return ratio;
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
          "write form=raw|eq3|smoothed|ordinal|log, alpha=, beta= (from 0) and clip= (above 1), "
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
  terms.ratios = RatiosOf(*timing);
  return terms;
}

Result<RewardForm> RewardFormFrom(std::string_view name) {
  if (name == "raw") return RewardForm::kRaw;
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

Result<RewardShape> ParseRewardShape(std::string_view text, RewardShape usual) {
  RewardShape shape = usual;
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

std::string TextOf(const RewardShape& shape) {
  constexpr const char* kNames[] = {"raw", "eq3", "smoothed", "ordinal", "log"};
  const auto number = [](double value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
  };
  return std::string("form=") + kNames[static_cast<size_t>(shape.form)] +
         ",alpha=" + number(shape.alpha) + ",beta=" + number(shape.beta) +
         ",clip=" + number(shape.clip);
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
  facts.mean_ratio = Mean(RatiosOf(*timing));
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
  std::vector<RewardFacts*> rest;
  std::ranges::copy_if(group, std::back_inserter(rest), [](const RewardFacts* member) {
    return member->kind == RewardFacts::Kind::kPassed;
  });
  std::ranges::stable_sort(rest, std::greater(), [](const auto* one) { return one->interval.lo; });
  for (auto first = rest.begin(); first != rest.end();) {
    const Interval common = (*first)->interval;
    const double middle = (common.lo + common.hi) / 2;
    const auto next = std::stable_partition(first, rest.end(), [&](const RewardFacts* member) {
      // Not by its own width: unsteady times must not bring a member nearer.
      return (member->interval.lo + member->interval.hi) / 2 + (middle - common.lo) >= common.lo;
    });
    if (next == first) return;  // what is left is no number
    for (; first != next; ++first) {
      (*first)->interval = common;
      if ((*first)->mean_ratio) (*first)->mean_ratio = middle;
    }
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
  const bool is_raw = shape.form == RewardForm::kRaw;
  const double earned = is_raw ? facts.mean_ratio.value_or(1) : EarnedRatio(facts.interval);
  const double none = Formed(1, shape);
  double speedup = is_ordinal ? Ordinal(facts) : Formed(earned, shape);
  if (facts.was_shown) speedup = std::min(speedup, none);
  const double length = shape.beta * static_cast<double>(facts.code_bytes);
  const double off =
      shape.alpha * facts.deviation + (is_raw ? length : std::min(length, kMostForLength));
  // From a deviation that is no number nothing can be taken off but all that may be.
  const double penalty = is_ordinal ? 0 : std::isfinite(off) ? off : speedup - kFailedReward;
  // Whatever is taken off, a gain stays above no gain, and a kernel that passed above one that
  // failed: a part of the distance is always left.
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

double RewardOf(const Candidate& candidate, const Verdict& verdict, const RewardShape& shape) {
  return ShapeReward(RewardFactsOf(candidate, verdict), shape).value.value_or(0);
}

std::optional<double> RankOf(const Step& step, Mode mode, const RewardShape& shape) {
  const std::optional<double> ratio = RankingRatio(step.verdict, mode);
  if (!ratio || shape == kSearchReward) return ratio;
  return step.reward;
}

namespace {

constexpr std::string_view kWithReward = ", reward ";

}  // namespace

std::string ProposerText(std::string_view name, const RewardShape& shape) {
  if (shape == kSearchReward) return std::string(name);
  return std::string(name) + std::string(kWithReward) + TextOf(shape);
}

RewardShape RewardOfProposer(std::string_view text) {
  const size_t at = text.find(kWithReward);
  if (at == std::string_view::npos) return kSearchReward;
  const auto shape = ParseRewardShape(text.substr(at + kWithReward.size()));
  return shape.ok() ? *shape : kSearchReward;
}

}  // namespace warpsmith
