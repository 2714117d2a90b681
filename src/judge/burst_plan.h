// Which call of a burst reads which contents from which slots, where it writes, when the oracle
// looks in between, and when contents change places under way.
//
// A program can remember things from one call to the next, and do work later than it says. These
// rules make both show:
//   - As long as there are combinations that the burst has not had, a call gets such a one. So a
//     remembered answer is the answer to another question.
//   - A slot's output is never what the slot holds already. So a call that was left out shows.
//   - Some calls, drawn in secret, are looked at: their output is verified right after they end. So
//     work that was put off shows, and it is not enough to do only the last call of each slot. How
//     many looks there are is secret too: a program that knew that no more would come could leave
//     out the calls from there to the last of each slot.
//   - A look must not be visible before the answer is fixed. It begins only when the next call has
//     been released, and holds up no call: others follow as always, in other slots, while it is
//     made. A program that saw it begin earlier could still do the work then, for this call alone.
//   - Some contents change places while calls run. So what an address held tells nothing. One of
//     the calls that follow such a move is looked at, not always the next: then only the call after
//     a move would have to be honest.
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
BatchPlan VerifiedCalls(const BurstPlan& plan);

inline constexpr int kLeastBurstCalls = 2;
// Calls so that a burst takes at least 100 ms, from how long one takes.
int CallsFor(double call_us);
// Whether a burst of so many calls may be timed. A program that is slow where calls are counted,
// and quick where they are timed, would have bursts of a few calls, beside which the oracle's own
// work is not small.
bool IsLongEnough(double call_us, int calls);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_BURST_PLAN_H_
