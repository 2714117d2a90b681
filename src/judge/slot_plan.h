// Which launch reads which contents from which addresses, and writes where.
//
// No launch may be able to borrow another's answer. So inside one batch (touch and timed launches
// together) every launch gets a combination of contents of its own and an output slot of its own.
// Their order is drawn from a stream whose seed never leaves the oracle: a kernel that knew which
// launch came next could prepare that one's answer in the time of this one. Between rounds the
// contents move to other slots, so what an address held says nothing about what it holds.
//
// Crossed problems (the built-in product): any content of A goes with any of B, so P contents of
// each give P * P combinations. Others: the inputs are drawn together, content c of every input is
// one set, and a combination is a set.
#ifndef WARPSMITH_JUDGE_SLOT_PLAN_H_
#define WARPSMITH_JUDGE_SLOT_PLAN_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "core/protocol.h"

namespace warpsmith::judge {

// Sizes are exact; a slot adds padding to kSlotAlignment and a guard.
struct ProblemBytes {
  std::vector<int64_t> input;
  int64_t output = 0;     // all outputs together
  int64_t reference = 0;  // the oracle's own, per combination
  bool crossed = false;

  int64_t inputs() const { return std::accumulate(input.begin(), input.end(), int64_t{0}); }
};

struct ArenaLimits {
  int64_t l2_bytes = 0;
  int64_t reference_bytes = 0;  // for all combinations (and sets of contents) together
  int64_t slot_bytes = 0;       // for all slots together
};

struct ArenaPlan {
  bool crossed = true;
  int contents = 2;  // of each input
  int touch_launches = 1, timed_launches = 1;
  int input_slots = 2, output_slots = 2;

  int combinations() const { return crossed ? contents * contents : contents; }
  // Of the contents of a launch's inputs.
  int CombinationOf(const std::vector<int>& content) const {
    if (content.empty()) return 0;
    return crossed ? content[0] * contents + content[1] : content[0];
  }
};

// As many timed launches as take about 100 us at `expected_us` each (at most 64, and at least 2
// where a launch is under 5 ms), as many contents as that needs. Inputs that fit in L2 together are
// all touched; larger ones get one touch launch, for the clocks and the module.
ArenaPlan PlanArena(const ProblemBytes& bytes, double expected_us, const ArenaLimits& limits);

struct PlannedLaunch {
  std::vector<int> content, slot;  // of each input
  int output_slot = 0;
};
struct BatchPlan {
  std::vector<PlannedLaunch> touch, timed;
};

// content of slot s of an input: assignment[s]. Every content occurs.
using Assignment = std::vector<int>;
Assignment DrawAssignment(const ArenaPlan& plan, Random& random);

// Hot modes and warm-up: timed launches read the slots that the touch launches have read (crossed),
// or that the judge has read itself. Cold modes (kDeviceCold, kServer): no touch launches, and no
// slot is read twice. At most `most_timed` timed launches, for candidates that take long.
BatchPlan PlanBatch(const ArenaPlan& plan, Mode mode, const std::vector<Assignment>& assignments,
                    int most_timed, Random& random);

inline constexpr int64_t kSlotAlignment = 256;  // what cuMemAlloc gives, and TMA needs 16
inline constexpr int64_t kGuardBytes = 512;

// Rounded up to kSlotAlignment.
int64_t PaddedBytes(int64_t bytes);

// The slots of one tensor: guard, slot, guard, slot, ..., guard. All in bytes; passed to kernels as
// it is (device/slots.cuh).
struct Region {
  uint64_t base = 0;  // device address in this process
  int64_t slots = 0;
  int64_t bytes = 0;   // of the tensor, exact
  int64_t padded = 0;  // to kSlotAlignment
  int64_t guard = kGuardBytes;
  int64_t end = 0;  // of the last guard

  int64_t OffsetOf(int slot) const { return guard + slot * (padded + guard); }
  uint64_t AddressOf(int slot) const { return base + static_cast<uint64_t>(OffsetOf(slot)); }
};
Region MakeRegion(int slots, int64_t tensor_bytes);  // base 0
// The only slot of a mapping of `mapped_bytes`, ending (padded) where the mapping ends. `base` is
// given relative to the mapping's start.
Region MakeExactRegion(int64_t tensor_bytes, int64_t mapped_bytes);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_SLOT_PLAN_H_
