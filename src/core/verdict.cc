#include "core/verdict.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/display_text.h"

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

std::string Line(const Passed& passed) {
  std::string line = "passed, " + std::string(Name(passed.level));
  if (passed.timings.empty() || passed.timings.front().modes.empty()) return line;
  const ModeTiming& mode = passed.timings.front().modes.front();
  line += ": " + Short(mode.candidate.median_us) + " us (" + std::string(Name(mode.mode)) + ")";
  if (mode.comparisons.empty()) return line;
  const Comparison& bar = mode.comparisons.front();
  return line + ", " + Short(bar.ratio) + "x " + bar.baseline + " [" + Short(bar.interval.lo) +
         ", " + Short(bar.interval.hi) + "] " + std::string(Name(bar.finding));
}

}  // namespace

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
  constexpr std::array<std::string_view, 7> kNames = {"compile-failed", "rejected",  "run-failed",
                                                      "timed-out",      "incorrect", "inconclusive",
                                                      "passed"};
  static_assert(kNames.size() == std::variant_size_v<Outcome>);
  return kNames[outcome.index()];
}

std::string Describe(const Outcome& outcome) {
  std::string line = std::visit([](const auto& kind) { return Line(kind); }, outcome);
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return ForTerminal(line, line.size());  // a candidate chose some of it
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

std::optional<double> RatioToBar(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return std::nullopt;
  return timing->comparisons.front().ratio;
}

}  // namespace warpsmith
