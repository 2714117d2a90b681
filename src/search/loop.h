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
#include <string>
#include <vector>

#include "core/compiler.h"
#include "core/device.h"
#include "core/proposer.h"
#include "core/reward.h"
#include "core/step.h"
#include "core/store.h"
#include "search/progress.h"

namespace warpsmith::search {

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

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_LOOP_H_
