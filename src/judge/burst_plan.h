// Which call of a burst reads which contents from which slots, where it writes, when the oracle
// looks in between, and when contents change places under way.
//
// A program can remember: between calls, and between a call and the end of its burst. So
//   - as long as there are combinations that the burst has not had, a call gets such a one;
//   - a slot's output is never what the slot holds already: a call left out shows;
//   - some calls, drawn in secret, are looked at right after they end: work put off shows, and
//     nobody can do only the last call of each slot. How many is secret too: who knew that no more
//     would come could leave out the calls from there to the last of each slot;
//   - a look holds up no call: others follow as always, in other slots, while it is made. Who saw
//     that it had begun could still do the work then;
//   - some contents change places while calls run: what an address held tells nothing. One of the
//     calls that follow is looked at, not always the next: that one could be late.
#ifndef WARPSMITH_JUDGE_BURST_PLAN_H_
#define WARPSMITH_JUDGE_BURST_PLAN_H_

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

struct SlotSwap {
  size_t input = 0;
  int first = 0, second = 0;
};

// Submitted once call `submit` is released; complete before call `needed` is, the first that may
// read one of the slots. Where both are the same call, it waits for the move.
struct Move {
  size_t submit = 0, needed = 0;
  std::vector<SlotSwap> swaps;
};

struct BurstPlan {
  std::vector<PlannedLaunch> calls;
  std::vector<bool> look;    // of each call: verify its output while later ones run
  size_t reserved = 1;       // so many calls after one that is looked at leave its slot alone
  size_t looks_made_up = 0;  // after the last call, for their time alone
  std::vector<Move> moves;
};

// `assignments` as they are when the burst begins; at least one call.
BurstPlan PlanBurst(const ArenaPlan& plan, const std::vector<Assignment>& assignments, int calls,
                    Random& random);

// The calls whose outputs are still there at the end: the last of each output slot.
BatchPlan LastCalls(const BurstPlan& plan);
// The calls that are looked at under way.
BatchPlan LookedAt(const BurstPlan& plan);

// Calls so that a burst takes at least 100 ms, from how long one takes.
int CallsFor(double call_us);
// Whether a burst of so many calls may be timed. A program that is slow where calls are counted,
// and quick where they are timed, would have bursts of a few calls, beside which the oracle's own
// work is not small.
bool IsLongEnough(double call_us, int calls);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_BURST_PLAN_H_
