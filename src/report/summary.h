// From a run's steps to what a report says about them.
#ifndef WARPSMITH_REPORT_SUMMARY_H_
#define WARPSMITH_REPORT_SUMMARY_H_

#include <optional>
#include <string>
#include <vector>

#include "core/reward.h"
#include "core/step.h"
#include "core/task.h"
#include "report/run_report.h"

namespace warpsmith::report {

// One shape of a run. The winner is the passed step of the highest rank (RankOf) in the wanted mode,
// or in the one that the bar was timed in; certified steps come before screened ones, whose best is
// flattered by having been picked.
ShapeReport SummariseShape(const Task& task, const Workload& workload, const Trajectory& steps,
                           Mode wanted, const RewardShape& reward = kSearchReward);

// The winner's rows of a verdict that passed; empty for any other.
std::vector<WinnerRow> WinnersOf(const Candidate& candidate, const Verdict& verdict);

// Where the best ratio to the bar rose.
std::vector<ProgressPoint> ProgressOf(const Trajectory& steps, Mode mode);

// A geometric mean; the interval is Student's t on logarithms.
struct Spread {
  int tasks = 0;
  double geomean = 0;
  Interval interval;
};
Spread SpreadOf(const std::vector<double>& ratios, double confidence);

struct Tally {
  int faster = 0, same = 0, slower = 0, not_shown = 0, nothing_passed = 0;
  double geomean_ratio = 0;  // over shapes with a winner in the mode; 0: none
};
// Without a mode: of every shape's headline.
Tally TallyOf(const RunReport& report, std::optional<Mode> mode);

// "4096x4096x4096" for a GEMM's sizes, the workload's name otherwise.
std::string WorkloadLabel(const Sizes& sizes, const std::string& workload);
// The same; a workload that is only named comes after its task: "006_Conv3d given".
std::string ShapeLabel(const ShapeReport& shape);

// Null: nothing passed in this mode.
const WinnerRow* FindWinner(const ShapeReport& shape, Mode mode);
// Modes that any shape has a winner in, in the order of the enumeration.
std::vector<Mode> ModesOf(const RunReport& report);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_SUMMARY_H_
