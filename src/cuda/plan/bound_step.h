// One operation of a plan with its addresses filled in. Private to this folder.
#ifndef WARPSMITH_CUDA_PLAN_BOUND_STEP_H_
#define WARPSMITH_CUDA_PLAN_BOUND_STEP_H_

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cuda/plan/plan_state.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/stream.h"
#include "cuda/tensor_map.h"

namespace warpsmith::plan {

// A kernel parameter's value, aligned as the widest one (a tensor map) must be.
struct alignas(64) ArgumentSlot {
  std::byte bytes[sizeof(cuda::TensorMap)];
};

// `pointers` point into `slots`, whose storage stays where it is when the struct is moved; a copy
// would point into the original's.
struct BoundLaunch {
  BoundLaunch() = default;
  BoundLaunch(BoundLaunch&&) noexcept = default;
  BoundLaunch& operator=(BoundLaunch&&) noexcept = default;
  std::vector<ArgumentSlot> slots;
  std::vector<void*> pointers;
};
struct BoundMemset {
  cuda::DevicePointer target = 0;
  uint8_t value = 0;
  size_t bytes = 0;
};
struct BoundCopy {
  cuda::DevicePointer target = 0, source = 0;
  size_t bytes = 0;
};
struct BoundPad {
  cuda::DevicePointer target = 0;
  size_t target_pitch_bytes = 0, target_rows = 0;
  cuda::PitchedRows source;
};

struct BoundStep {
  // Index among the plan's operations; past the last: the zeroing of a workspace.
  size_t operation = 0;
  std::variant<BoundLaunch, BoundMemset, BoundCopy, BoundPad> action;
};

// Zeroed workspaces first, then the operations in order.
Result<std::vector<BoundStep>> BindSteps(const PlanState& state, std::span<const Binding> bindings);

Status Submit(const BoundStep& step, const PlanState& state, const cuda::Stream& stream);

// For error texts: "operations[1]", "zeroing a workspace".
std::string PlaceOf(const BoundStep& step, const PlanState& state);

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_BOUND_STEP_H_
