// Searches, and the stored runs that reports are made of.
//
// One search: a task's space, a proposer, the loop, the finalists' certification, and what a report
// says about it.
#ifndef WARPSMITH_SEARCH_TUNING_SEARCH_H_
#define WARPSMITH_SEARCH_TUNING_SEARCH_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/protocol.h"
#include "core/space.h"
#include "core/store.h"
#include "core/task.h"
#include "hgemm/family.h"
#include "report/run_comparison.h"
#include "report/run_report.h"
#include "report/terminal.h"
#include "search/loop.h"
#include "search/machine/machine.h"
#include "search/proposers/terrain.h"
#include "store/database_store.h"

namespace warpsmith::search {

struct SearchOptions {
  std::string proposer = "guided";  // guided, brief, local, random
  std::string budget = "evals=160";
  uint64_t seed = 1;
  int batch = 8;
  int finalists = 3;  // re-judged as certified on fresh data
  bool paper_protocol = false;
  std::string run;  // id of the run; empty: made from task, proposer, seed and time
  std::string resume;
  std::string fail_on;  // "regression", "incorrect", comma-separated
  bool dry_run = false;
  bool overlap = true;     // hgemm: also kernels that begin before the operation ahead has ended
  std::string reward;      // what steps are worth (core/reward.h); empty: the plain ratio
  std::string cost_model;  // hgemm: a model file; empty: the one that is built in
};

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

// Of a task that task::HgemmTask made.
hgemm::Problem ProblemOf(const Task& task, const Workload& workload);

// The ranking of a problem's kernels by a model file, or, for an empty path, by the built-in model.
Result<proposers::CostModel> ReadCostModel(const std::string& path, const hgemm::Problem& problem,
                                           const hgemm::Target& target);

// The space of an HGEMM shape: live from the kernel families, or as the recording holds it.
Result<SearchJob> HgemmSearch(Machine& machine, const Task& task, const Workload& workload);
// The point that the cost model likes best; kBadInput where the space is empty.
Result<Point> LikeliestPoint(const SearchJob& job);

struct SearchEnd {
  EndReason reason = EndReason::kExhausted;
  std::string run;
  report::ShapeReport report;
  std::optional<Step> winner;  // certified where a finalist was, else screened
  Trajectory certified;
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

// A whole run, new or resumed: the loop to the end of its budget, and then Finish.
Result<SearchEnd> Search(const SearchJob& job, const SearchContext& context);

// What is done after any loop: its best are certified, in a replay those that were recorded so, and
// the report is made. `finalists` may be empty.
Result<SearchEnd> Finish(const SearchJob& job, const SearchContext& context,
                         const LoopRequest& request, const LoopResult& result,
                         const std::vector<Step>& finalists);

// Steps whose candidates were overruled in this run (run_memos.h) get a verdict that says so.
Status Overrule(store::DatabaseStore& store, const std::string& run, Trajectory& steps);

// The same for the terminal; `label` stands before it.
report::Progress ToReport(const Progress& progress, const std::string& label);

// Protocols of the search and of its finalists.
Protocol SearchProtocol();
Protocol FinalProtocol(const SearchOptions& options);

// What --resume or --run names, else a fresh "hgemm-20261121T101500Z-4711". kNoInput when the run
// to go on with was never begun.
Result<std::string> RunName(Machine& machine, const SearchOptions& options,
                            std::string_view prefix);

// --- Runs of a store, as what reports are made of.

// The steps that certified a run's best; `all`: the store's runs.
Result<Trajectory> CertifiedSteps(store::DatabaseStore& store, const RunRecord& run,
                                  const std::vector<RunRecord>& all);

// The run of that name, and every run below it ("name/..."), with what was overruled and what was
// kept of each step. kNoInput: there is none.
Result<report::SideRuns> SideOf(store::DatabaseStore& store, const std::string& name,
                                const std::vector<RunRecord>& all);

// Of the first side; that all are of one device is for the reader to see.
report::Origin OriginOfSides(const std::vector<report::SideRuns>& sides);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_TUNING_SEARCH_H_
