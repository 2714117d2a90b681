// A task that somebody drives by hand: candidates in, verdicts out. Each verdict is a step of a run
// in the store, so that reports, exports and the knowledge base see it like any other, and the
// run's budget holds.
#ifndef WARPSMITH_SEARCH_WORKBENCH_H_
#define WARPSMITH_SEARCH_WORKBENCH_H_

#include <functional>
#include <optional>
#include <string>

#include "core/step.h"
#include "search/session.h"

namespace warpsmith::search {

struct WorkbenchRequest {
  Task task;
  Workload workload;
  std::optional<Candidate> start;
  Budget budget;  // of the whole run, earlier sessions included
  std::string run, command;
  std::string worker;  // who leases the run's jobs: store::ThisWorker()
  uint64_t seed = 1;
};

// A step and the run that it is of: what a verdict's id (core/step.h) names.
struct FoundStep {
  std::string run;
  Step step;
  RunRecord record;
  std::string id() const;
};

// Gives device and compiler, opened at first need: whoever drives by hand may think for long, and
// others may want to measure meanwhile. The workbench's own store takes the place of the seams'.
using OpenSeams = std::function<Result<Seams>()>;

class Workbench {
 public:
  // A run of this name that the store knows is gone on with; kConfig where it is about something
  // else. `store` outlives it.
  static Result<Workbench> Open(WorkbenchRequest request, Store& store, OpenSeams open);

  // The verdict, committed as the run's next step. kAnswerIsNo where the budget has no room for
  // it, kInterrupted where `stop` said so before it came; neither is a step then.
  Result<FoundStep> Evaluate(const Candidate& candidate, const Cost& thought,
                             const std::function<bool()>& stop);
  // A step that passed, judged again as certified: a run of its own beside this one.
  Result<FoundStep> Certify(const FoundStep& found, const std::function<bool()>& stop);

  // By a verdict's id, of this run or any other in the store. kBadInput where there is none.
  Result<FoundStep> Find(const std::string& verdict_id);
  // Passed, with the highest ratio to the bar (or the shortest time where there is no bar).
  // `level`: among those judged so.
  Result<std::optional<FoundStep>> Best(Level level);

  // What is spent, and the limit that leaves no room for another evaluation. GPU time that is spent
  // without being a step is charged here, to the next one.
  Spending& spending() { return spending_; }
  const Spending& spending() const { return spending_; }

  const Task& task() const { return request_.task; }
  const Workload& workload() const { return request_.workload; }
  const WorkbenchRequest& request() const { return request_; }
  int64_t steps() const { return steps_; }

 private:
  Workbench(WorkbenchRequest request, Store& store, OpenSeams open);
  Status Resume();
  Result<Seams> OpenMachine();
  Result<RunRecord> Begin(const DeviceInfo& device);

  WorkbenchRequest request_;
  Store* store_;
  OpenSeams open_;
  Spending spending_;
  bool begun_ = false;
  int64_t steps_ = 0;
};

// ln(time before / time after), from the ratios to the bar where both have one; nullopt where one of
// the two was not measured.
std::optional<double> LogGain(const FoundStep& before, const FoundStep& after);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_WORKBENCH_H_
