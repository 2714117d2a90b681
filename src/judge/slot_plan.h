// Which launch reads which contents from which addresses, and writes where.
//
// No launch may be able to borrow another's answer, so inside one batch (touch and timed launches
// together) every launch gets a combination (content of A, content of B) of its own and an output
// slot of its own, in an order drawn from a secret stream. Between rounds the contents move to
// other slots: what an address holds cannot be remembered.
#ifndef WARPSMITH_JUDGE_SLOT_PLAN_H_
#define WARPSMITH_JUDGE_SLOT_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/protocol.h"
#include "util/random.h"

namespace warpsmith::judge {

inline constexpr int kInputs = 2;  // of the gemm reference: A and B

// Sizes are exact; a slot adds padding to kSlotAlignment and a guard.
struct ProblemBytes {
  std::array<int64_t, kInputs> input{};
  int64_t output = 0;
  int64_t reference = 0;  // the oracle's own, per combination
};

struct ArenaLimits {
  int64_t l2_bytes = 0;
  int64_t reference_bytes = 0;  // for all combinations together
  int64_t slot_bytes = 0;       // for all slots together
};

struct ArenaPlan {
  int contents = 2;  // of each input
  int touch_launches = 1, timed_launches = 1;
  int input_slots = 2, output_slots = 2;

  int combinations() const { return contents * contents; }
};

// As many timed launches as take about 100 us at `expected_us` each (at most 64, and at least 2
// where a launch is under 5 ms), as many contents as that needs. Inputs that fit in L2 together are
// all touched; larger ones get one touch launch, for the clocks and the module.
ArenaPlan PlanArena(const ProblemBytes& bytes, double expected_us, const ArenaLimits& limits);

struct PlannedLaunch {
  std::array<int, kInputs> content{}, slot{};
  int output_slot = 0;
};
struct BatchPlan {
  std::vector<PlannedLaunch> touch, timed;
};

// content of slot s of an input: assignment[s]. Every content occurs.
using Assignment = std::vector<int>;
Assignment DrawAssignment(const ArenaPlan& plan, Random& random);

// Hot modes and warm-up: timed launches read the slots that the touch launches have read. Cold
// modes (kDeviceCold, kServer): no touch launches, and no slot is read twice.
BatchPlan PlanBatch(const ArenaPlan& plan, Mode mode,
                    const std::array<Assignment, kInputs>& assignments, Random& random);

inline constexpr int64_t kSlotAlignment = 256;  // what cuMemAlloc gives, and TMA needs 16
inline constexpr int64_t kGuardBytes = 512;

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
