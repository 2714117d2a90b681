// Runs side by side: what each reached on the same tasks, for how much, and how it went about it.
#ifndef WARPSMITH_REPORT_RUN_COMPARISON_H_
#define WARPSMITH_REPORT_RUN_COMPARISON_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/step.h"
#include "core/store.h"
#include "report/summary.h"
#include "report/terminal.h"

namespace warpsmith::report {

// What a run noted of a step beside its verdict. Empty: nothing.
struct StepNotes {
  std::string state, technique, previous;
  std::optional<double> log_gain;  // of what the technique worked on
};

// One run with its steps, as the store holds them.
struct StoredRun {
  RunRecord record;
  Trajectory steps;
  std::map<int64_t, StepNotes> notes;  // by step
  Trajectory certified;                // its best, judged again
};

// One side of a comparison: runs over different tasks that went about it in one way.
struct SideRuns {
  std::string name;
  std::vector<StoredRun> runs;
};

// Ratios are to the bar: above 1 is faster. 0: nothing passed, or nothing to compare with.
struct TaskResult {
  std::string key;    // equal for the same task and sizes
  std::string label;  // "softmax, 16x16384"
  int64_t evaluations = 0, passed = 0;
  double first_ratio = 0;  // of the first kernel that passed
  double screened_ratio = 0, certified_ratio = 0;
  Interval screened_interval, certified_interval;
  Cost cost;
  std::vector<ProgressPoint> progress;  // rising in both
  std::vector<std::string> states;      // met, in order of first appearance
};

// How a technique did; of a transition: where `previous` had been applied before.
struct TechniqueUse {
  std::string previous, technique;
  int64_t uses = 0, passed = 0, gained = 0;  // gained: faster than what it changed
  double mean_log_gain = 0;                  // over those measured
  int64_t measured = 0;
  std::map<std::string, int64_t> failures;  // outcome -> count
};

struct Side {
  std::string name, proposer;
  std::vector<TaskResult> tasks;  // by key
  int valid = 0;                  // tasks where something passed
  Spread reached;                 // over those
  Cost cost;
  // Tokens for each doubling of speed over the first kernel that passed; nullopt: no tokens, or no
  // gain.
  std::optional<double> tokens_a_doubling;
  std::optional<double> states_a_task;  // nullopt: no states were noted
  // Over the tasks in which every side passed something, from the evaluation on by which all of
  // them had.
  std::vector<ProgressPoint> curve;       // of the tasks' best ratios the geometric mean
  std::vector<TechniqueUse> techniques;   // the most used first
  std::vector<TechniqueUse> transitions;  // the most profitable first
};

// A side against the first, on the tasks where both passed something, task by task. Both certified
// where both are, else both screened.
struct PairedRatio {
  std::string side, against;
  int certified = 0;  // pairs that were
  Spread ratio;       // above 1: `side` is faster
  Finding finding = Finding::kNotShown;
};

struct RunComparison {
  std::string title;
  Origin origin;
  std::vector<Side> sides;
  std::vector<PairedRatio> pairs;  // every side but the first
};

// In the sides' order; the first is what the others are compared with.
RunComparison CompareRuns(const std::vector<SideRuns>& sides);

inline constexpr int kComparisonVersion = 1;

// For people: tables, a CSV, a JSON document, a page.
std::string RenderComparison(const RunComparison& comparison, Colour colour);
// One row a side and task.
std::string ToCsv(const RunComparison& comparison);
nlohmann::json ToJson(const RunComparison& comparison);
std::string ToHtml(const RunComparison& comparison);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_RUN_COMPARISON_H_
