// A plan's operations made ready for the driver, for the judge and the GEMM library alike:
// everything but the addresses is settled, and so are those, where they are known beforehand.
#ifndef WARPSMITH_CUDA_PLAN_STEPS_H_
#define WARPSMITH_CUDA_PLAN_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/resolved_plan.h"
#include "cuda/guest.h"
#include "cuda/memory.h"
#include "cuda/module.h"

namespace warpsmith::plan {

// An address: `offset_bytes` behind one of the bases that RunSteps is given, or, without a base,
// that number itself.
struct Place {
  int base = -1;
  cuda::DevicePointer offset_bytes = 0;
};

// What a plan's name for a tensor or a workspace stands for.
struct Memory {
  Place place;
  int64_t bytes = 0;
  // Of a matrix whose rows lie further apart than they are long. Only a tensor map of the whole
  // matrix can take it as it is. 0: dense.
  uint64_t rows = 0, row_bytes = 0, pitch_bytes = 0;
};
using Memories = std::map<std::string, Memory, std::less<>>;

// By operation: a launch step points to its own.
using Launches = std::map<size_t, cuda::FixedLaunch>;
// By operation and argument: where each constant table lies.
using Tables = std::map<std::pair<size_t, size_t>, cuda::DevicePointer>;

// A kernel parameter's value, aligned as the widest one (a tensor map) must be.
struct alignas(64) ArgumentSlot {
  std::byte bytes[sizeof(cuda::TensorMap)];
};

struct LaunchStep {
  // A parameter whose address has a base: it is filled in at each run.
  struct Patch {
    size_t slot = 0;
    bool in_map = false;
    Place place;
  };
  LaunchStep() = default;
  // `pointers` point into `slots`, whose storage stays where it is when the struct is moved; a copy
  // would point into the original's.
  LaunchStep(LaunchStep&&) noexcept = default;
  LaunchStep& operator=(LaunchStep&&) noexcept = default;

  const cuda::FixedLaunch* launch = nullptr;
  std::vector<ArgumentSlot> slots;
  std::vector<void*> pointers;
  std::vector<Patch> patches;
};
struct FillStep {
  Place target;
  uint8_t value = 0;
  size_t bytes = 0;
};
struct CopyStep {
  Place target, source;
  size_t bytes = 0;
  std::optional<ResolvedPad> pad =
      {};  // its rows instead of `bytes`; what is beside them becomes 0
};
inline constexpr size_t kZeroing = SIZE_MAX;  // in place of an operation: of a workspace
struct BoundStep {
  size_t operation = 0;
  std::variant<LaunchStep, FillStep, CopyStep> action;
};

inline constexpr size_t kMostPatchedArguments = 24;  // of a launch that has patches

// Sets what each kernel needs before its launch. kBadInput, naming operation and field, where a
// kernel is missing or its compiled parameters differ from the plan's arguments in number or size:
// a launch that passes fewer or smaller values than the kernel reads would read our memory.
Result<Launches> PrepareLaunches(const ResolvedPlan& plan, const cuda::Module& module);

// Zeroed workspaces first, then the operations in order. kBadInput, naming operation and field,
// where memory is missing, smaller than an operation needs, or not dense.
Result<std::vector<BoundStep>> MakeSteps(const ResolvedPlan& plan, const Launches& launches,
                                         const Tables& tables, const Memories& memories);

// Submits every step in order. Allocates only when it fails; thread-safe. A refused call names the
// operation: "operations[1]: cuLaunchKernelEx: ...".
Status RunSteps(std::span<const BoundStep> steps, std::span<const cuda::DevicePointer> bases,
                CUstream_st* stream);

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_STEPS_H_
