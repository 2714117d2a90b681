// A task that somebody drives by hand: candidates in, verdicts out. Each verdict is a step of a run
// in the store, so that reports, exports and the knowledge base see it like any other, and the
// run's budget holds.
#ifndef WARPSMITH_TOOLS_WORKBENCH_H_
#define WARPSMITH_TOOLS_WORKBENCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/step.h"
#include "machine.h"
#include "search/spending.h"
#include "store/sqlite_store.h"
#include "task/task_file.h"

namespace warpsmith::cli {

// Opened when first needed, and given back when nothing is asked for a while: others may want to
// measure.
class LazyMachine {
 public:
  explicit LazyMachine(DeviceOptions options) : options_(std::move(options)) {}
  Result<Machine*> Get();
  void Release() { machine_.reset(); }

 private:
  const DeviceOptions options_;
  std::unique_ptr<Machine> machine_;
};

struct WorkbenchRequest {
  task::LoadedTask loaded;
  std::optional<Candidate> start;
  Budget budget;  // of the whole run, earlier sessions included
  std::string run, command;
  uint64_t seed = 1;
};

// A step and the run that it is of: what a verdict's id ("run:<run>#<step>") names.
struct FoundStep {
  std::string run;
  Step step;
  RunRecord record;
  std::string id() const;
};

class Workbench {
 public:
  // A run of this name that the store knows is gone on with; kConfig where it is about something
  // else. `store` and `machine` outlive it.
  static Result<Workbench> Open(WorkbenchRequest request, store::SqliteStore& store,
                                LazyMachine& machine);

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

  // What costs GPU time without being a step is charged to the next one.
  void Charge(double gpu_seconds) { pending_gpu_seconds_ += gpu_seconds; }
  Cost Spent() const;
  // The limit that leaves no room for another evaluation, if any.
  std::optional<std::string> Exhausted() const;

  const Task& task() const { return request_.loaded.task; }
  const Workload& workload() const { return request_.loaded.workload; }
  const task::LoadedTask& loaded() const { return request_.loaded; }
  const WorkbenchRequest& request() const { return request_; }
  int64_t steps() const { return steps_; }

 private:
  Workbench(WorkbenchRequest request, store::SqliteStore& store, LazyMachine& machine);
  Status Resume();
  Status Begin(const DeviceInfo& device);
  Result<RunRecord> Record();

  WorkbenchRequest request_;
  store::SqliteStore* store_;
  LazyMachine* machine_;
  search::Spending spending_;
  bool begun_ = false;
  int64_t steps_ = 0;
  double pending_gpu_seconds_ = 0;
  double accounted_at_;  // until when time has been charged
};

// More is better; nullopt where nothing was measured. ln of the ratio to the bar, else of 1 / time:
// two are compared only where both are of one kind.
struct Score {
  double value = 0;
  bool is_ratio = false;
};
std::optional<Score> ScoreOf(const Verdict& verdict, Mode mode);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_WORKBENCH_H_
