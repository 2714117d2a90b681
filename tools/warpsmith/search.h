// One search: a task's space, a proposer, the loop, the finalists' certification, and what a report
// says about it.
#ifndef WARPSMITH_TOOLS_SEARCH_H_
#define WARPSMITH_TOOLS_SEARCH_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.h"
#include "core/space.h"
#include "core/task.h"
#include "hgemm/family.h"
#include "machine.h"
#include "options.h"
#include "report/progress_line.h"
#include "report/run_report.h"
#include "search/loop.h"
#include "search/proposers/terrain.h"

namespace warpsmith::cli {

struct SearchJob {
  Task task;
  Workload workload;
  Space space;
  CandidateMaker make;
  proposers::CostModel model;  // may be empty
  proposers::ArmOf arm;        // may be empty
  std::vector<Point> first;    // to begin with
  std::string label;           // for the progress line
};

// The ranking of a problem's kernels by a model file, or, for an empty path, by the built-in model.
Result<proposers::CostModel> ReadCostModel(const std::string& path, const hgemm::Problem& problem,
                                           const hgemm::Target& target);

// The space of an HGEMM shape: live from the kernel families, or as the recording holds it.
Result<SearchJob> HgemmSearch(Machine& machine, const Task& task, const Workload& workload);
// The point that the cost model likes best; kBadInput where the space is empty.
Result<Point> LikeliestPoint(const SearchJob& job);

struct SearchEnd {
  search::EndReason reason = search::EndReason::kExhausted;
  std::string run;
  report::ShapeReport report;
  std::optional<Step> winner;  // certified where a finalist was, else screened
  Trajectory certified;
  bool finalists_certified = false;
  DeviceInfo device;
};

struct SearchContext {
  Machine* machine = nullptr;
  const SearchOptions* options = nullptr;
  report::ProgressLine* progress = nullptr;                      // null: quiet
  std::string run;                                               // the run's id
  std::string command;                                           // argv
  double max_seconds = std::numeric_limits<double>::infinity();  // that are left to this call
  std::optional<Protocol> certifying = {};  // of the best; none: what the options say
};

Result<SearchEnd> Search(const SearchJob& job, const SearchContext& context);

// What is done after any loop: its best are certified, in a replay those that were recorded so, and
// the report is made. `finalists` may be empty.
Result<SearchEnd> Finish(const SearchJob& job, const SearchContext& context,
                         const search::LoopRequest& request, const search::LoopResult& result,
                         const std::vector<Step>& finalists);

// Steps whose candidates were overruled in this run (run_memos.h) get a verdict that says so.
Status Overrule(store::SqliteStore& store, const std::string& run, Trajectory& steps);

report::Progress ToReport(const search::Progress& progress, const std::string& label);

// Protocols of the search and of its finalists.
Protocol SearchProtocol();
Protocol FinalProtocol(const SearchOptions& options);

// What --dry-run answers: how many configurations each job has, and how long all would take.
struct DryRunRow {
  std::string label;
  size_t configurations = 0;
  int64_t evaluations = 0;
};
void PrintDryRun(const std::vector<DryRunRow>& rows, double seconds, bool json);

// What --resume or --run names, else a fresh "hgemm-20261121T101500Z-4711". kNoInput when the run
// to go on with was never begun.
Result<std::string> RunName(Machine& machine, const SearchOptions& options,
                            std::string_view prefix);

// Device, driver and dates of what was measured, from the winners' evidence.
report::Origin OriginOf(Machine& machine, const std::vector<SearchEnd>& ends,
                        const std::string& command);

// Writes the files that were asked for and prints the table (or the JSON) to stdout.
Status Publish(const report::RunReport& report, const ReportFiles& files, bool json);

// 1 when a --fail-on condition holds, else 0. "regression": a winner slower than the bar, or none;
// "incorrect": any candidate with a wrong result.
Result<int> ExitStatus(const report::RunReport& report, const std::string& fail_on);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_SEARCH_H_
