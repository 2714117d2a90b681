// The loop: propose -> compile -> judge -> store -> observe, for any proposer, device and task.
//
// Generations of `run.batch` proposals, two of them under way: generation g + 1 is proposed once
// all of g - 1 has been observed, so that compiling g + 1 overlaps measuring g. Steps are committed
// and observed in proposal order whatever order they end in. Both are rules over the log alone, so
// a run that is killed and resumed proposes, commits and observes exactly what it would have.
#ifndef WARPSMITH_SEARCH_LOOP_H_
#define WARPSMITH_SEARCH_LOOP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/compiler.h"
#include "core/device.h"
#include "core/proposer.h"
#include "core/protocol.h"
#include "core/reward.h"
#include "core/step.h"
#include "core/store.h"

namespace warpsmith::search {

// How a run stands, for a terminal.
struct Progress {
  std::string run;
  int64_t evaluations = 0;
  int64_t evaluation_limit = 0;      // 0: none
  std::optional<double> best_ratio;  // to the bar, in the run's first mode
  std::string best;                  // the best candidate's point, or its technique, or its id
  std::map<std::string, int64_t, std::less<>> outcomes;  // outcome name -> steps
  Cost spent;
  double elapsed_seconds = 0;  // of this call
  std::optional<double> seconds_left;
};

// Folds steps into a Progress. Steps that were only replayed don't count for the time estimate.
class ProgressTracker {
 public:
  ProgressTracker(std::string run, Mode mode, const Budget& budget, double max_seconds);

  enum class Origin { kReplayed, kNew };
  void Add(const Step& step, Origin origin, double elapsed_seconds);
  const Progress& progress() const { return progress_; }

 private:
  std::optional<double> SecondsLeft() const;

  Mode mode_;
  Budget budget_;
  double max_seconds_;
  int64_t new_steps_ = 0;
  Progress progress_;
};

struct LoopRequest {
  RunRecord run;  // a run that the store knows is resumed, and must be the same one
  Budget budget;  // of the whole run, earlier calls included
  double max_seconds = std::numeric_limits<double>::infinity();  // of this call
  std::string worker;  // who leases the jobs: store::ThisWorker()
  int keep_best = 3;   // steps to hand back
  // What a step is worth to the proposer, and what the best are ranked by.
  RewardShape reward = kSearchReward;
  // Generations that begin before this many steps are proposed, even beyond the budget. Only a
  // replay needs it: what its run had proposed when time or money ended it is proposed then, too.
  int64_t propose_to = 0;
  int compile_threads = 0;  // 0: DefaultCompileThreads()
  int device_queue = 4;     // jobs with the device at a time: enough that it never waits for us
};

struct LoopCallbacks {
  std::function<void(const Progress&)> on_progress;  // after every step
  std::function<bool()> stop;                        // asked often; besides Interrupted()
};

enum class EndReason {
  kExhausted,  // the proposer has nothing left to try
  kBudget,     // LoopResult::limit says which
  kMaxSeconds,
  kInterrupted,  // Ctrl-C, or LoopCallbacks::stop
};

struct LoopResult {
  EndReason reason = EndReason::kExhausted;
  std::string limit;      // "evals", "gpu", "time", "tokens", "money"
  int64_t steps = 0;      // of the run
  int64_t new_steps = 0;  // by this call
  Progress progress;
  std::vector<Step> best;  // passed, the best first (RankOf) in the run's first mode
};

// Ends early with everything committed when told to stop: what the device already has is waited for
// and kept. Resumable after any end, Errors and kill -9 included. kConfig: the run is known with
// another task, proposer, seed, ..., or its stored steps are not what the proposer proposes now.
Result<LoopResult> RunLoop(const LoopRequest& request, Proposer& proposer, Compiler* compiler,
                           Device& device, Store& store, const LoopCallbacks& callbacks = {});

// The last word on a search: its best few are judged again, thoroughly and on fresh data, because
// the best of many that were measured once is flattered by its luck.
struct Certification {
  std::string run;               // its id
  std::vector<Step> steps;       // one for each finalist that was judged, in their order
  std::optional<size_t> winner;  // among `steps`: passed, with the highest ratio to the bar
  LoopResult loop;
};

// A run of its own (id "<search's id>/certify-<hash>"), hence stored, cached and resumable
// like any other. `search` is the request that found the finalists; its budget does not apply here.
// Protocol::Certified, in the search's modes, unless `protocol` says otherwise.
Result<Certification> Certify(const LoopRequest& search, const std::vector<Step>& finalists,
                              Compiler* compiler, Device& device, Store& store,
                              const LoopCallbacks& callbacks = {},
                              const std::optional<Protocol>& protocol = std::nullopt);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_LOOP_H_
