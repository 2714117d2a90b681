// What a `kernel` candidate does on the host, as data: so the same plan is captured in a graph,
// timed, audited, recorded and later shipped in a dispatch library. Format:
// docs/task-format.md.
#ifndef WARPSMITH_CORE_LAUNCH_PLAN_H_
#define WARPSMITH_CORE_LAUNCH_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/expression.h"

namespace warpsmith {

inline constexpr int kLaunchPlanVersion = 1;

// Expressions see the workload's sizes, `sm_count`, and inside a launch `max_active_clusters` (the
// driver's occupancy answer for that kernel, cluster and shared memory; CTAs per device without
// one).

// The tensor's device pointer.
struct TensorArgument {
  std::string tensor;
};
// i32 or i64, range-checked.
struct IntArgument {
  Expression value = Expression::Constant(0);
  int bytes = 4;
};
// f32 or f64.
struct FloatArgument {
  double value = 0;
  int bytes = 4;
};
// The workspace's device pointer.
struct WorkspaceArgument {
  std::string workspace;
};
// A constant table, passed as a device pointer.
struct TableArgument {
  std::vector<int32_t> values;
};

enum class Swizzle : uint8_t { kNone, k32B, k64B, k128B };

// A CUtensorMap, encoded by the host for the launch (driver API, cuTensorMapEncodeTiled). Innermost
// dimension first; strides in bytes, one fewer than dims; box and element strides in elements.
struct TensorMapArgument {
  std::string tensor;  // or a workspace's name
  DType dtype = DType::kF16;
  std::vector<Expression> dims, strides_bytes, box, element_strides;
  Swizzle swizzle = Swizzle::kNone;
  int interleave_bytes = 0;    // 0, 16, 32
  int l2_promotion_bytes = 0;  // 0, 64, 128, 256
  bool fill_nan = false;       // out-of-bounds elements read as NaN instead of zero
};

using Argument = std::variant<TensorArgument, IntArgument, FloatArgument, WorkspaceArgument,
                              TableArgument, TensorMapArgument>;

inline std::array<Expression, 3> Ones() {
  return {Expression::Constant(1), Expression::Constant(1), Expression::Constant(1)};
}

struct LaunchOperation {
  std::string kernel;
  std::array<Expression, 3> grid = Ones(), block = Ones(), cluster = Ones();
  Expression shared_bytes = Expression::Constant(0);  // dynamic shared memory
  bool cooperative = false;
  bool programmatic = false;         // programmatic dependent launch
  bool nonportable_cluster = false;  // more than 8 CTAs
  std::vector<Argument> arguments;
};

// Charged like everything else in the plan. `target` / `source` name tensors or workspaces.
struct MemsetOperation {
  std::string target;
  uint8_t value = 0;
  Expression bytes = Expression::Constant(0);
};
struct CopyOperation {
  std::string target, source;
  Expression bytes = Expression::Constant(0);
};
// Rows of `width_bytes` copied between pitches, the rest of each target row and row count zeroed.
struct PadOperation {
  std::string target, source;
  Expression rows = Expression::Constant(0), width_bytes = Expression::Constant(0);
  Expression source_pitch_bytes = Expression::Constant(0);
  Expression target_rows = Expression::Constant(0), target_pitch_bytes = Expression::Constant(0);
};

using Operation = std::variant<LaunchOperation, MemsetOperation, CopyOperation, PadOperation>;

// Scratch memory of the plan. Its state before every execution is what `zero` says: the judge
// restores it (poison or zeros), so nothing can be carried from one call to the next.
struct Workspace {
  std::string name;
  Expression bytes = Expression::Constant(0);
  bool zero = false;
};

struct LaunchPlan {
  Expression valid_when = Expression::Constant(1);  // predicate on the sizes
  std::vector<Workspace> workspaces;
  std::vector<Operation> operations;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_LAUNCH_PLAN_H_
