// One burst of one peer, from the poisoned outputs to their verification.
#ifndef WARPSMITH_JUDGE_BURST_RUN_H_
#define WARPSMITH_JUDGE_BURST_RUN_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "judge/arena.h"
#include "judge/burst_plan.h"
#include "judge/called_process.h"
#include "judge/inspection.h"
#include "judge/oracle_device.h"

namespace warpsmith::judge {

// --- What the oracle's own work within a burst takes, and a call's time without it. Where outputs
// are large, verifying one takes longer than a call that writes it.

// Microseconds, measured while no candidate's process is there: who keeps the device busy while it
// is looked at pays for what that takes longer.
struct OracleCost {
  double look_us = 0;  // one output verified
  double slot_us = 0;  // one output slot read after the last call
  double move_us = 0;  // two contents of every input changing places
};
// Of each part the smaller: disturbances only add.
OracleCost LowerCost(const OracleCost& a, const OracleCost& b);

// What a burst held beside its calls.
struct OracleWork {
  size_t looks = 0, slots = 0, moves = 0;
  size_t calls = 0;
};

// The share of `call_us` (all of a burst over its calls) that was the oracle's.
double OracleShare(double call_us, const OracleWork& work, const OracleCost& cost);

// A call's time without the oracle's work, and then without the hand-over, which takes at most half
// of what is left. At least a twentieth of `call_us` before that.
double NetUs(double call_us, const OracleWork& work, const OracleCost& cost, double hand_over_us);

// --- Bursts.

struct BurstBench {
  OracleDevice* device = nullptr;
  Arena* arena = nullptr;
  const Task* task = nullptr;
  Random* random = nullptr;
  std::chrono::milliseconds step_limit{0};
};

// An output that was not right when its call had been announced as done.
struct BadLook {
  OutputReport report;
  bool right_later = false;  // it was after a short wait: the call was announced too early
};

struct BurstResult {
  // At most one of these. Without any, all that follows is filled; after a bad look, `verified` is,
  // whose outputs of calls not made are poison.
  std::optional<CallResult> failure;
  std::optional<BadLook> bad_look;
  bool is_resident = false;  // its kernels were at work while it was stopped; it has been killed

  double call_us = 0;                // from the first release to the end of the look, a call
  double oracle_us = 0;              // of which the oracle looked and moved, this time, a call
  OracleWork work;                   // how much it did meanwhile
  BatchPlan last;                    // the last call of each output slot
  std::vector<OutputReport> looked;  // what their outputs held within the time
  Inspection verified;               // and afterwards, against the references
  double gpu_busy_us = 0;            // a call, as the peer says; 0: it does not
};

// The peer has the arena mapped and is paused before and after. Outputs are poisoned, inputs get
// other slots, calls are released one by one; the clock runs until the oracle has seen every output.
// kUnavailable where another process keeps the device busy.
Result<BurstResult> RunBurst(const BurstBench& bench, CalledProcess& peer,
                             const BurstCommand& burst);

// What the hand-over alone takes: a burst of the callee "null". Microseconds a call.
struct NullCost {
  std::optional<CallResult> failure;
  double call_us = 0;
};
Result<NullCost> MeasureNullCost(const BurstBench& bench, CalledProcess& peer, int calls);

// Of outputs that are right and a peer that is paused: `last` as a burst left it. The least of a
// few tries, without anything that the device may have to do first. Moves contents to other slots.
Result<OracleCost> MeasureOracleCost(const BurstBench& bench, const BatchPlan& last);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_BURST_RUN_H_
