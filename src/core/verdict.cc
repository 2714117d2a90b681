#include "core/verdict.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "base/display_text.h"
#include "core/fields.h"

namespace warpsmith {
namespace {

std::string Short(double value) {
  std::array<char, 32> text{};
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
  return {text.data(), result.ptr};
}

std::string After(std::string_view separator, const std::string& text) {
  return text.empty() ? "" : std::string(separator) + text;
}

std::string Line(const CompileFailed& failed) {
  return "does not compile" + After(": ", failed.reason);
}

std::string Line(const Rejected& rejected) {
  return "rejected: " + rejected.rule + After(": ", rejected.detail);
}

std::string Line(const RunFailed& failed) {
  return "failed to run: " + failed.call + After(": ", failed.code) + After(", ", failed.detail);
}

std::string Line(const TimedOut& timed_out) {
  return "timed out: " + timed_out.step + " took longer than " +
         std::to_string(timed_out.limit_ms) + " ms";
}

std::string Line(const Incorrect& incorrect) {
  std::string line = "incorrect (" + incorrect.detector + ")";
  if (incorrect.element >= 0) {
    line += ": element " + std::to_string(incorrect.element) + " is off by " +
            Short(incorrect.error) + ", bound " + Short(incorrect.bound);
  }
  return line + After(": ", incorrect.detail);
}

std::string Line(const Inconclusive& inconclusive) {
  return "inconclusive" + After(": ", inconclusive.reason);
}

// Of tasks whose outputs nobody knows an allowed bias of: more than half of what cutting off gives.
std::string AboutBias(const Correctness& correctness) {
  constexpr double kNotable = 0.5;
  if (!correctness.bias) return "";
  for (const Estimate* mean : {&correctness.bias->magnitude, &correctness.bias->value}) {
    if (mean->interval.lo <= kNotable && mean->interval.hi >= -kNotable) continue;
    return "; BIASED: outputs lie " + Short(mean->value) +
           " halves of a last place beside the reference on average";
  }
  return "";
}

std::string AboutRareErrors(const Correctness& correctness) {
  if (correctness.rare_errors.empty()) return "";
  const RareError& rarest = correctness.rare_errors.back();
  return "; wrong once in " + std::to_string(rarest.once_in) + " launches would be caught with " +
         Short(100 * rarest.caught) + " %";
}

std::string AboutTime(const Passed& passed) {
  if (passed.timings.empty() || passed.timings.front().modes.empty()) return "";
  const ModeTiming& mode = passed.timings.front().modes.front();
  std::string text =
      ": " + Short(mode.candidate.median_us) + " us (" + std::string(Name(mode.mode)) + ")";
  if (mode.below_roofline) text += " BELOW ITS FLOOR of " + Short(mode.roofline_us) + " us";
  if (mode.comparisons.empty()) return text;
  const Comparison& primary = mode.comparisons.front();
  return text + ", " + Short(primary.ratio) + "x " + primary.baseline + " [" +
         Short(primary.interval.lo) + ", " + Short(primary.interval.hi) + "] " +
         std::string(Name(primary.finding));
}

std::string Line(const Passed& passed) {
  return "passed, " + std::string(Name(passed.level)) + AboutTime(passed) +
         AboutBias(passed.correctness) + AboutRareErrors(passed.correctness);
}

}  // namespace

double CautiousRatio(double paired, double candidate_us, double primary_us) {
  return candidate_us > 0 ? std::min(paired, primary_us / candidate_us) : paired;
}

std::optional<double> RankingRatio(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return std::nullopt;
  const Comparison& primary = timing->comparisons.front();
  const ContenderTiming* measured = PrimaryOf(*timing);
  if (measured == nullptr) return primary.ratio;
  return CautiousRatio(primary.ratio, timing->candidate.median_us, measured->median_us);
}

std::string_view Name(Finding finding) {
  switch (finding) {
    case Finding::kFaster:
      return "faster";
    case Finding::kSlower:
      return "slower";
    case Finding::kSame:
      return "same";
    case Finding::kNotShown:
      return "not-shown";
  }
  std::abort();
}

std::string_view OutcomeName(const Outcome& outcome) {
  return std::visit([](const auto& kind) { return TagOf(&kind); }, outcome);
}

std::string Describe(const Outcome& outcome) {
  std::string line = std::visit([](const auto& kind) { return Line(kind); }, outcome);
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return ForTerminal(line, line.size());  // a candidate chose some of it
}

const ContenderTiming* PrimaryOf(const ModeTiming& timing) {
  if (timing.comparisons.empty()) return nullptr;
  const auto found = std::ranges::find(timing.baselines, timing.comparisons.front().baseline,
                                       &ContenderTiming::name);
  return found != timing.baselines.end() ? &*found : nullptr;
}

const ModeTiming* FindTiming(const Verdict& verdict, Mode mode) {
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  if (passed == nullptr || passed->timings.empty()) return nullptr;
  for (const ModeTiming& timing : passed->timings.front().modes) {
    if (timing.mode == mode) return &timing;
  }
  return nullptr;
}

const ModeTiming* FindComparison(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindTiming(verdict, mode);
  if (timing == nullptr || !timing->comparisons.empty()) return timing;
  for (const ModeTiming& other : std::get<Passed>(verdict.outcome).timings.front().modes) {
    if (!other.comparisons.empty()) return &other;
  }
  return nullptr;
}

std::optional<double> RatioToPrimary(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return std::nullopt;
  return timing->comparisons.front().ratio;
}

}  // namespace warpsmith
