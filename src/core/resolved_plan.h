// A launch plan with every expression evaluated for one workload on one device: concrete numbers,
// range-checked, ready to be carried out by the driver.
#ifndef WARPSMITH_CORE_RESOLVED_PLAN_H_
#define WARPSMITH_CORE_RESOLVED_PLAN_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/launch_plan.h"
#include "core/task.h"

namespace warpsmith {

struct ResolvedTensorMap {
  std::string tensor;
  DType dtype = DType::kF16;
  std::vector<uint64_t> dims, strides_bytes;
  std::vector<uint32_t> box, element_strides;
  Swizzle swizzle = Swizzle::kNone;
  int interleave_bytes = 0, l2_promotion_bytes = 0;
  bool fill_nan = false;
};
struct ResolvedScalar {
  std::array<uint8_t, 8> bits{};
  int bytes = 4;
};
using ResolvedArgument = std::variant<TensorArgument, ResolvedScalar, WorkspaceArgument,
                                      TableArgument, ResolvedTensorMap>;

struct ResolvedLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t shared_bytes = 0;
  bool cooperative = false, programmatic = false, nonportable_cluster = false;
  std::vector<ResolvedArgument> arguments;
};
struct ResolvedMemset {
  std::string target;
  uint8_t value = 0;
  int64_t bytes = 0;
};
struct ResolvedCopy {
  std::string target, source;
  int64_t bytes = 0;
};
struct ResolvedPad {
  std::string target, source;
  int64_t rows = 0, width_bytes = 0, source_pitch_bytes = 0, target_rows = 0,
          target_pitch_bytes = 0;
};
using ResolvedOperation = std::variant<ResolvedLaunch, ResolvedMemset, ResolvedCopy, ResolvedPad>;

struct ResolvedWorkspace {
  std::string name;
  int64_t bytes = 0;
  bool zero = false;
};

struct ResolvedPlan {
  std::vector<ResolvedWorkspace> workspaces;
  std::vector<ResolvedOperation> operations;
};

// Answers `max_active_clusters` for a launch whose block, cluster and shared memory are known.
using ClusterOccupancy = std::function<Result<int64_t>(const ResolvedLaunch&)>;

// Checks names against the task's tensors and the plan's workspaces, that copies stay within
// their targets, CUDA's limits (grid, block <= 1024 threads, cluster divides grid, <= 16 CTAs), and
// that the plan is valid for the sizes (kBadInput, naming the operation and field).
Result<ResolvedPlan> Resolve(const LaunchPlan& plan, const Task& task, const Sizes& sizes,
                             int sm_count, const ClusterOccupancy& occupancy);

int SwizzleBytes(Swizzle swizzle);  // 0 for none

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_RESOLVED_PLAN_H_
