#include "report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace warpsmith::report {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kBand = 0.01;  // within which two are the same

std::string KeyOf(const RunRecord& run) {
  std::string key = TaskId(run.task);
  for (const auto& [name, size] : run.workload.sizes) key += " " + name + std::to_string(size);
  return key;
}

// The best ratio among the steps, with its interval.
std::pair<double, Interval> BestOf(const Trajectory& steps, Mode mode) {
  std::pair<double, Interval> best;
  for (const Step& step : steps) {
    const double ratio = RatioToPrimary(step.verdict, mode).value_or(0);
    if (ratio <= best.first) continue;
    best = {ratio, FindComparison(step.verdict, mode)->comparisons.front().interval};
  }
  return best;
}

TaskResult ResultOf(const StoredRun& run) {
  const Mode mode = run.record.protocol.modes.front();
  TaskResult result;
  result.key = KeyOf(run.record);
  result.label = run.record.task.name + ", " +
                 WorkloadLabel(run.record.workload.sizes, run.record.workload.name);
  result.evaluations = static_cast<int64_t>(run.steps.size());
  result.progress = ProgressOf(run.steps, mode);
  if (!result.progress.empty()) result.first_ratio = result.progress.front().best_ratio;
  std::tie(result.screened_ratio, result.screened_interval) = BestOf(run.steps, mode);
  std::tie(result.certified_ratio, result.certified_interval) = BestOf(run.certified, mode);
  for (const Trajectory* steps : {&run.steps, &run.certified}) {
    for (const Step& step : *steps) result.cost = result.cost + step.cost;
  }
  std::set<std::string> seen;
  for (const Step& step : run.steps) {
    result.passed += std::holds_alternative<Passed>(step.verdict.outcome) ? 1 : 0;
    const auto notes = run.notes.find(step.index);
    if (notes == run.notes.end() || notes->second.state.empty()) continue;
    if (seen.insert(notes->second.state).second) result.states.push_back(notes->second.state);
  }
  return result;
}

// A step as it counts for techniques: what was noted, and what its candidate says of itself.
struct Use {
  std::string technique, previous, outcome;
  bool passed = false;
  std::optional<double> log_gain;
};

std::vector<Use> UsesOf(const StoredRun& run) {
  const Mode mode = run.record.protocol.modes.front();
  std::map<std::string, const Step*> by_candidate;  // parents, and what they reached
  std::vector<Use> uses;
  for (const Step& step : run.steps) {
    const Provenance& from = step.candidate.provenance;
    const auto noted = run.notes.find(step.index);
    const StepNotes notes = noted == run.notes.end() ? StepNotes{} : noted->second;
    Use use{notes.technique.empty() ? from.technique : notes.technique, notes.previous,
            std::string(OutcomeName(step.verdict.outcome)),
            std::holds_alternative<Passed>(step.verdict.outcome), notes.log_gain};
    const auto parent = by_candidate.find(from.parent);
    if (parent != by_candidate.end()) {
      if (use.previous.empty()) use.previous = parent->second->candidate.provenance.technique;
      const auto was = RatioToPrimary(parent->second->verdict, mode);
      const auto is = RatioToPrimary(step.verdict, mode);
      if (!use.log_gain && was && is && *was > 0 && *is > 0) use.log_gain = std::log(*is / *was);
    }
    by_candidate.emplace(CandidateId(step.candidate), &step);
    if (!use.technique.empty()) uses.push_back(std::move(use));
  }
  return uses;
}

void Count(const Use& use, TechniqueUse& into) {
  into.technique = use.technique;
  ++into.uses;
  into.passed += use.passed ? 1 : 0;
  if (!use.passed) ++into.failures[use.outcome];
  into.gained += use.log_gain.value_or(0) > 0 ? 1 : 0;
  if (!use.log_gain) return;
  into.mean_log_gain += (*use.log_gain - into.mean_log_gain) / static_cast<double>(++into.measured);
}

void AddTechniques(const std::vector<Use>& uses, Side* side) {
  std::map<std::string, TechniqueUse> techniques;
  std::map<std::pair<std::string, std::string>, TechniqueUse> transitions;
  for (const Use& use : uses) {
    Count(use, techniques[use.technique]);
    if (use.previous.empty()) continue;
    TechniqueUse& transition = transitions[{use.previous, use.technique}];
    transition.previous = use.previous;
    Count(use, transition);
  }
  for (auto& [name, use] : techniques) side->techniques.push_back(std::move(use));
  for (auto& [names, use] : transitions) side->transitions.push_back(std::move(use));
  std::stable_sort(side->techniques.begin(), side->techniques.end(),
                   [](const auto& a, const auto& b) { return a.uses > b.uses; });
  std::stable_sort(side->transitions.begin(), side->transitions.end(),
                   [](const TechniqueUse& a, const TechniqueUse& b) {
                     return std::pair(a.measured > 0, a.mean_log_gain) >
                            std::pair(b.measured > 0, b.mean_log_gain);
                   });
}

double RatioReached(const TaskResult& task) {
  return task.certified_ratio > 0 ? task.certified_ratio : task.screened_ratio;
}

void Summarise(Side* side) {
  std::vector<double> ratios;
  double doublings = 0, states = 0;
  int with_states = 0;
  for (const TaskResult& task : side->tasks) {
    side->cost = side->cost + task.cost;
    if (!task.states.empty()) {
      ++with_states;
      states += static_cast<double>(task.states.size());
    }
    if (task.passed > 0) ++side->valid;
    if (RatioReached(task) <= 0) continue;
    ratios.push_back(RatioReached(task));
    if (task.first_ratio > 0) doublings += std::log2(task.screened_ratio / task.first_ratio);
  }
  side->reached = SpreadOf(ratios, kConfidence);
  if (side->cost.tokens > 0 && doublings > 0) {
    side->tokens_a_doubling = static_cast<double>(side->cost.tokens) / doublings;
  }
  if (with_states > 0) side->states_a_task = states / with_states;
}

Side SideOf(const SideRuns& runs) {
  Side side;
  side.name = runs.name;
  std::vector<Use> uses;
  for (const StoredRun& run : runs.runs) {
    if (side.proposer.empty()) side.proposer = run.record.proposer;
    side.tasks.push_back(ResultOf(run));
    for (Use& use : UsesOf(run)) uses.push_back(std::move(use));
  }
  std::stable_sort(side.tasks.begin(), side.tasks.end(),
                   [](const TaskResult& a, const TaskResult& b) { return a.key < b.key; });
  AddTechniques(uses, &side);
  Summarise(&side);
  return side;
}

const TaskResult* Find(const Side& side, const std::string& key) {
  for (const TaskResult& task : side.tasks) {
    if (task.key == key) return &task;
  }
  return nullptr;
}

PairedRatio Pair(const Side& side, const Side& against) {
  PairedRatio pair;
  pair.side = side.name;
  pair.against = against.name;
  std::vector<double> ratios;
  for (const TaskResult& task : side.tasks) {
    const TaskResult* other = Find(against, task.key);
    if (other == nullptr) continue;
    if (task.certified_ratio > 0 && other->certified_ratio > 0) {
      ++pair.certified;
      ratios.push_back(task.certified_ratio / other->certified_ratio);
    } else if (task.screened_ratio > 0 && other->screened_ratio > 0) {
      ratios.push_back(task.screened_ratio / other->screened_ratio);
    }
  }
  pair.ratio = SpreadOf(ratios, kConfidence);
  const Interval& interval = pair.ratio.interval;
  if (ratios.size() < 2) return pair;
  if (interval.lo > 1 - kBand && interval.hi < 1 + kBand) {
    pair.finding = Finding::kSame;
  } else if (interval.lo > 1) {
    pair.finding = Finding::kFaster;
  } else if (interval.hi < 1) {
    pair.finding = Finding::kSlower;
  }
  return pair;
}

double BestAt(const TaskResult& task, int64_t evaluations) {
  double best = 0;
  for (const ProgressPoint& point : task.progress) {
    if (point.evaluations <= evaluations) best = point.best_ratio;
  }
  return best;
}

// Keys of the tasks in which every side passed something.
std::set<std::string> CommonTasks(const std::vector<Side>& sides) {
  std::set<std::string> common;
  for (const TaskResult& task : sides.front().tasks) {
    const bool everywhere = std::all_of(sides.begin(), sides.end(), [&](const Side& side) {
      const TaskResult* found = Find(side, task.key);
      return found != nullptr && !found->progress.empty();
    });
    if (everywhere) common.insert(task.key);
  }
  return common;
}

std::vector<ProgressPoint> CurveOf(const Side& side, const std::set<std::string>& common) {
  std::set<int64_t> moments;
  int64_t first = 1, last = 1;
  for (const std::string& key : common) {
    const TaskResult& task = *Find(side, key);
    first = std::max(first, task.progress.front().evaluations);
    last = std::max(last, task.evaluations);
    for (const ProgressPoint& point : task.progress) moments.insert(point.evaluations);
  }
  moments.insert({first, last});
  std::vector<ProgressPoint> curve;
  for (const int64_t moment : moments) {
    if (moment < first || common.empty()) continue;
    double sum = 0;
    for (const std::string& key : common) sum += std::log(BestAt(*Find(side, key), moment));
    curve.push_back({moment, std::exp(sum / static_cast<double>(common.size()))});
  }
  return curve;
}

}  // namespace

RunComparison CompareRuns(const std::vector<SideRuns>& sides) {
  RunComparison comparison;
  for (const SideRuns& runs : sides) comparison.sides.push_back(SideOf(runs));
  if (comparison.sides.empty()) return comparison;
  const std::set<std::string> common = CommonTasks(comparison.sides);
  for (Side& side : comparison.sides) side.curve = CurveOf(side, common);
  for (size_t i = 1; i < comparison.sides.size(); ++i) {
    comparison.pairs.push_back(Pair(comparison.sides[i], comparison.sides.front()));
  }
  return comparison;
}

}  // namespace warpsmith::report
