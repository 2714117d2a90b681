#include "agent/prompts/state.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/display_text.h"
#include "judge/profile/metrics.h"

namespace warpsmith::prompts {
namespace {

using profile::BottleneckReport;
using profile::Ranked;
using profile::Statement;

constexpr double kNamed = 0.1;  // below it a statement names nothing, as in src/judge/profile
constexpr double kWeak = 0.25;  // of a kernel's time: less leaves most of it unexplained
constexpr double kClear = 0.1;  // between the first and the second
constexpr double kWithoutCounters = 0.5;  // what the rules' word is worth then
constexpr double kMinorShare = 0.02;      // of the time: no doubt is worth a question

std::string Number(double value) { return fmt::format("{:.4g}", value); }

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string NameOf(const Ranked& ranked) {
  return std::string(profile::Describe(ranked.bottleneck).name);
}

std::string EvidenceLine(const Statement& statement) {
  std::string cites;
  for (const profile::Citation& citation : statement.cites) {
    cites +=
        (cites.empty() ? "" : ", ") + ForTerminal(citation.metric) + "=" + Number(citation.value);
  }
  return std::string(profile::Describe(statement.bottleneck).name) + ": " +
         ForTerminal(statement.says, 300) + " [" + cites + "]";
}

// Of several statements about one bottleneck the heaviest counts, as in the report's own ranking.
std::vector<Ranked> Ranking(const std::vector<const Statement*>& statements) {
  std::vector<Ranked> ranking;
  for (const Statement* statement : statements) {
    const auto known = std::find_if(ranking.begin(), ranking.end(), [&](const Ranked& one) {
      return one.bottleneck == statement->bottleneck;
    });
    if (known == ranking.end()) {
      ranking.push_back({statement->bottleneck, statement->weight});
    } else {
      known->weight = std::max(known->weight, statement->weight);
    }
  }
  std::stable_sort(ranking.begin(), ranking.end(), [](const Ranked& left, const Ranked& right) {
    return left.weight > right.weight;
  });
  std::erase_if(ranking, [](const Ranked& one) { return !(one.weight >= kNamed); });
  return ranking;
}

double WeightAt(const std::vector<Ranked>& ranking, size_t place) {
  return place < ranking.size() ? ranking[place].weight : 0;
}

bool HasCounters(const BottleneckReport& report) { return report.source.starts_with("ncu"); }

std::vector<std::string> Doubts(const BottleneckReport& report,
                                const std::vector<Ranked>& ranking) {
  std::vector<std::string> doubts;
  const double first = WeightAt(ranking, 0), second = WeightAt(ranking, 1);
  if (ranking.empty()) {
    doubts.push_back("no rule names a bottleneck");
  } else if (first < kWeak) {
    doubts.push_back(NameOf(ranking[0]) + " stands for only " + Percent(first) + " of its time");
  }
  if (second > 0 && first - second < kClear) {
    doubts.push_back(NameOf(ranking[0]) + " and " + NameOf(ranking[1]) + " weigh nearly the same");
  }
  const size_t asked = profile::CounterSet("").size();
  if (!HasCounters(report)) {
    doubts.push_back("no counters were read: the profile is '" + ForTerminal(report.source) + "'");
  } else if (2 * report.missing.size() > asked) {
    doubts.push_back(std::to_string(report.missing.size()) + " of " + std::to_string(asked) +
                     " counters are missing");
  }
  return doubts;
}

// A clear first place counts in full, a tie half; without counters the rules guess.
double Confidence(const BottleneckReport& report, const std::vector<Ranked>& ranking) {
  if (ranking.empty()) return 0;
  const double lead = WeightAt(ranking, 0) - WeightAt(ranking, 1);
  const double clear = 0.5 + 0.5 * std::min(lead / (2 * kClear), 1.0);
  const double read = HasCounters(report) ? 1 : kWithoutCounters;
  return std::clamp(WeightAt(ranking, 0), 0.0, 1.0) * clear * read;
}

State StateOf(const BottleneckReport& report, std::optional<size_t> kernel) {
  State state;
  state.kernel = kernel;
  std::vector<const Statement*> about;
  for (const Statement& statement : report.evidence) {
    if (statement.kernel != kernel) continue;
    about.push_back(&statement);
    state.evidence.push_back(EvidenceLine(statement));
  }
  const std::vector<Ranked> ranking = Ranking(about);
  state.name = ranking.empty() ? std::string(kNoState) : NameOf(ranking[0]);
  if (ranking.size() > 1) state.secondary = NameOf(ranking[1]);
  state.confidence = Confidence(report, ranking);
  state.doubts = Doubts(report, ranking);
  return state;
}

// Each report's part of the whole time; equal parts where one has no time.
std::vector<double> Parts(std::span<const BottleneckReport> reports) {
  double total_us = 0;
  bool all_timed = true;
  for (const BottleneckReport& report : reports) {
    all_timed = all_timed && report.profiled_us > 0;
    total_us += report.profiled_us;
  }
  std::vector<double> parts;
  for (const BottleneckReport& report : reports) {
    parts.push_back(all_timed ? report.profiled_us / total_us
                              : 1 / static_cast<double>(reports.size()));
  }
  return parts;
}

bool SpeaksOfWhole(const BottleneckReport& report) {
  return std::any_of(report.evidence.begin(), report.evidence.end(),
                     [](const Statement& one) { return !one.kernel && one.weight >= kNamed; });
}

std::string Text(const State& state) {
  std::string text = "- ";
  text += state.kernel ? "kernel " + std::to_string(*state.kernel + 1) + " " +
                             QuotedForModel(state.kernel_name)
                       : "whole plan";
  text += ", " + Percent(state.share) + " of the time: " + state.name;
  if (!state.secondary.empty()) text += ", then " + state.secondary;
  text += " (confidence " + Number(state.confidence) + ")\n";
  for (const std::string& line : state.evidence) text += "  - " + line + "\n";
  for (const std::string& line : state.doubts) text += "  - unsure: " + line + "\n";
  return text;
}

}  // namespace

std::vector<State> ExtractStates(std::span<const BottleneckReport> reports) {
  const std::vector<double> parts = Parts(reports);
  std::vector<State> kernels, wholes;
  for (size_t index = 0; index < reports.size(); ++index) {
    const BottleneckReport& report = reports[index];
    for (size_t kernel = 0; kernel < report.kernels.size(); ++kernel) {
      State state = StateOf(report, kernel);
      state.report = index;
      state.kernel_name = report.kernels[kernel].kernel;
      state.share = parts[index] * report.kernels[kernel].share;
      if (state.share < kMinorShare) state.doubts.clear();
      kernels.push_back(std::move(state));
    }
    if (!SpeaksOfWhole(report)) continue;
    State state = StateOf(report, std::nullopt);
    state.report = index;
    state.share = parts[index];
    wholes.push_back(std::move(state));
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const State& left, const State& right) { return left.share > right.share; });
  std::move(wholes.begin(), wholes.end(), std::back_inserter(kernels));
  return kernels;
}

std::vector<State> ExtractStates(const BottleneckReport& report) {
  return ExtractStates(std::span(&report, 1));
}

std::string StatesText(std::span<const State> states) {
  std::string text;
  for (const State& state : states) text += Text(state);
  return text.empty() ? "none: nothing was profiled\n" : text;
}

}  // namespace warpsmith::prompts
