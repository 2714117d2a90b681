#include "report/summary.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "core/space.h"

namespace warpsmith::report {
namespace {

constexpr std::array kModes = {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer,
                               Mode::kWall};

std::string ConfigName(const Candidate& candidate) {
  const Provenance& from = candidate.provenance;
  if (!from.family.empty()) return PointName({from.family, from.config});
  return candidate.entry;
}

const Step* BestStep(const Trajectory& steps, Mode mode, const RewardShape& reward) {
  const Step* best = nullptr;
  std::pair<Level, double> best_rank;
  for (const Step& step : steps) {
    const std::optional<double> worth = RankOf(step, mode, reward);
    if (!worth) continue;
    const std::pair rank(std::get<Passed>(step.verdict.outcome).level, *worth);
    if (best == nullptr || rank > best_rank) {
      best = &step;
      best_rank = rank;
    }
  }
  return best;
}

// The wanted one, unless nothing was compared in it: PyTorch is a bar on the wall clock only, and
// programs have no other.
Mode HeadlineOf(const Trajectory& steps, Mode wanted) {
  std::vector<Mode> modes = {wanted};
  modes.insert(modes.end(), kModes.begin(), kModes.end());
  for (const Mode mode : modes) {
    for (const Step& step : steps) {
      const ModeTiming* timing = FindComparison(step.verdict, mode);
      if (timing != nullptr && !timing->comparisons.empty()) return timing->mode;
    }
  }
  return wanted;
}

std::string SourceOf(const Candidate& candidate) {
  if (!candidate.provenance.family.empty()) return {};
  if (candidate.sources.size() == 1) return candidate.sources.begin()->second;
  std::string all;
  for (const auto& [path, text] : candidate.sources) all += "// ---- " + path + "\n" + text + "\n";
  return all;
}

std::vector<FailedEvaluation> FailedOf(const Trajectory& steps) {
  std::vector<FailedEvaluation> failed;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Outcome& outcome = steps[i].verdict.outcome;
    if (std::holds_alternative<Passed>(outcome)) continue;
    const auto* rejected = std::get_if<Rejected>(&outcome);
    const bool declined = rejected != nullptr && rejected->rule == kDeclinedRule;
    failed.push_back({static_cast<int64_t>(i) + 1,
                      std::string(declined ? kDeclinedRule : OutcomeName(outcome)),
                      declined ? rejected->detail : Describe(outcome)});
  }
  return failed;
}

std::vector<FailureCount> CountsOf(const std::vector<FailedEvaluation>& failed) {
  std::map<std::string, FailureCount, std::less<>> failures;
  for (const FailedEvaluation& one : failed) {
    FailureCount& failure = failures[one.kind];
    if (failure.count++ == 0) failure.example = one.why;
  }
  std::vector<FailureCount> rows;
  for (auto& [kind, failure] : failures) {
    failure.kind = kind;
    rows.push_back(std::move(failure));
  }
  return rows;
}

std::vector<BaselineRow> BaselinesOf(const Verdict& verdict) {
  std::vector<BaselineRow> rows;
  for (const Mode mode : kModes) {
    const ModeTiming* timing = FindTiming(verdict, mode);
    if (timing == nullptr) continue;
    for (const ContenderTiming& baseline : timing->baselines) {
      const bool is_noise = baseline.name.ends_with("/again");  // the bar against itself
      if (is_noise) continue;
      rows.push_back({baseline.name, mode, baseline.median_us});
    }
  }
  return rows;
}

WinnerRow WinnerOf(const std::string& config, Level level, const ModeTiming& timing) {
  WinnerRow row{.mode = timing.mode,
                .level = level,
                .config = config,
                .primary = {},
                .ours_us = timing.candidate.median_us,
                .interval = {},
                .roofline_us = timing.roofline_us,
                .aa_noise = timing.aa_noise,
                .below_roofline = timing.below_roofline};
  if (timing.comparisons.empty()) return row;
  const Comparison& primary = timing.comparisons.front();
  row.primary = primary.baseline;
  row.ratio = primary.ratio;
  row.interval = primary.interval;
  row.finding = primary.finding;
  if (const ContenderTiming* measured = PrimaryOf(timing)) row.primary_us = measured->median_us;
  return row;
}

}  // namespace

std::vector<ProgressPoint> ProgressOf(const Trajectory& steps, Mode mode) {
  std::vector<ProgressPoint> progress;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double ratio = RatioToPrimary(steps[i].verdict, mode).value_or(0);
    if (ratio <= (progress.empty() ? 0 : progress.back().best_ratio)) continue;
    progress.push_back({static_cast<int64_t>(i) + 1, ratio});
  }
  return progress;
}

std::vector<WinnerRow> WinnersOf(const Candidate& candidate, const Verdict& verdict) {
  std::vector<WinnerRow> rows;
  const Passed* passed = std::get_if<Passed>(&verdict.outcome);
  if (passed == nullptr) return rows;
  for (const Mode mode : kModes) {
    const ModeTiming* timing = FindTiming(verdict, mode);
    if (timing != nullptr) rows.push_back(WinnerOf(ConfigName(candidate), passed->level, *timing));
  }
  return rows;
}

ShapeReport SummariseShape(const Task& task, const Workload& workload, const Trajectory& steps,
                           Mode wanted, const RewardShape& reward) {
  const Mode mode = HeadlineOf(steps, wanted);
  ShapeReport shape;
  shape.headline = mode;
  shape.task = task.name;
  shape.workload = workload.name;
  shape.sizes = workload.sizes;
  shape.evaluations = static_cast<int64_t>(steps.size());
  for (const Step& step : steps) {
    shape.passed += std::holds_alternative<Passed>(step.verdict.outcome) ? 1 : 0;
    shape.gpu_seconds += step.cost.gpu_seconds;
    if (shape.passed == 1 && shape.first_source.empty()) {
      shape.first_source = SourceOf(step.candidate);
    }
  }
  shape.progress = ProgressOf(steps, mode);
  shape.failed = FailedOf(steps);
  shape.failures = CountsOf(shape.failed);
  if (const Step* best = BestStep(steps, mode, reward)) {
    shape.winners = WinnersOf(best->candidate, best->verdict);
    shape.baselines = BaselinesOf(best->verdict);
    shape.source = SourceOf(best->candidate);
  }
  return shape;
}

const WinnerRow* FindWinner(const ShapeReport& shape, Mode mode) {
  for (const WinnerRow& row : shape.winners) {
    if (row.mode == mode) return &row;
  }
  return nullptr;
}

std::vector<Mode> ModesOf(const RunReport& report) {
  std::vector<Mode> modes;
  for (const Mode mode : kModes) {
    const bool seen = std::any_of(
        report.shapes.begin(), report.shapes.end(),
        [mode](const ShapeReport& shape) { return FindWinner(shape, mode) != nullptr; });
    if (seen) modes.push_back(mode);
  }
  return modes;
}

Spread SpreadOf(const std::vector<double>& ratios, double confidence) {
  Spread spread;
  spread.tasks = static_cast<int>(ratios.size());
  if (ratios.empty()) return spread;
  const auto n = static_cast<double>(ratios.size());
  double sum = 0, squares = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  const double mean = sum / n;
  for (const double ratio : ratios) squares += (std::log(ratio) - mean) * (std::log(ratio) - mean);
  spread.geomean = std::exp(mean);
  spread.interval = {0, HUGE_VAL};
  if (ratios.size() < 2) return spread;
  const boost::math::students_t distribution(n - 1);
  const double half =
      boost::math::quantile(distribution, 0.5 + confidence / 2) * std::sqrt(squares / (n - 1) / n);
  spread.interval = {std::exp(mean - half), std::exp(mean + half)};
  return spread;
}

Tally TallyOf(const RunReport& report, std::optional<Mode> mode) {
  Tally tally;
  double log_sum = 0;
  int compared = 0;
  for (const ShapeReport& shape : report.shapes) {
    const WinnerRow* row = FindWinner(shape, mode.value_or(shape.headline));
    if (row == nullptr || !(row->ratio > 0)) {
      ++tally.nothing_passed;
      continue;
    }
    log_sum += std::log(row->ratio);
    ++compared;
    tally.faster += row->finding == Finding::kFaster ? 1 : 0;
    tally.same += row->finding == Finding::kSame ? 1 : 0;
    tally.slower += row->finding == Finding::kSlower ? 1 : 0;
    tally.not_shown += row->finding == Finding::kNotShown ? 1 : 0;
  }
  if (compared > 0) tally.geomean_ratio = std::exp(log_sum / compared);
  return tally;
}

std::string WorkloadLabel(const Sizes& sizes, const std::string& workload) {
  std::string label;
  for (const char* name : {"M", "N", "K"}) {
    const auto size = sizes.find(name);
    if (size == sizes.end()) return workload;
    label += (label.empty() ? "" : "x") + std::to_string(size->second);
  }
  return label;
}

std::string ShapeLabel(const ShapeReport& shape) {
  const std::string label = WorkloadLabel(shape.sizes, shape.workload);
  if (label != shape.workload) return label;
  return shape.task.substr(shape.task.rfind('/') + 1) + " " + label;
}

}  // namespace warpsmith::report
