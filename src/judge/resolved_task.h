// A task and workload as the judge sees them: tensors with their sizes, and how exact their values
// must be.
#ifndef WARPSMITH_JUDGE_RESOLVED_TASK_H_
#define WARPSMITH_JUDGE_RESOLVED_TASK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "core/device.h"
#include "core/protocol.h"
#include "core/task.h"
#include "judge/correctness.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

// Of a task. Both memories of each tensor, its slots and the exact one, go to a process in one
// frame.
inline constexpr size_t kMostTensors = kMaxFrameDescriptors / 2;

// Of the built-in product: the sum |a||b| of each element, in FP32.
inline constexpr int64_t kMagnitudeBytes = 4;

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF16;
  Generator generator = Generator::kNormal;
  int64_t low = 0, high = 0;  // of kIntegers and kOffsets
  std::vector<int64_t> extents;
  int64_t elements = 0, bytes = 0;
};

// The built-in reference: C = A * B.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transposed = false;    // B is N x K ("TN")
  DType dtype = DType::kF16;  // of A, B and C; or kBF16
};

// A role is an index into inputs, then outputs: Roles() of them. Regions, slots and wire messages
// are in this order.
struct ResolvedTask {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<BoundCoefficients> bounds;  // of each output
  std::vector<DType> expected;            // the type that the reference gives each output in
  double allowed_bias = 0;                // of products (AllowedBias); 0: unknown
  std::optional<GemmShape> gemm;          // the reference is built in
  bool reference_draws = false;           // the reference makes the inputs itself

  size_t Roles() const { return inputs.size() + outputs.size(); }
  bool IsOutput(size_t role) const { return role >= inputs.size(); }
  const TensorInfo& Tensor(size_t role) const {
    return IsOutput(role) ? outputs[role - inputs.size()] : inputs[role];
  }
};

// kBadInput, naming the tensor and what was expected, for what cannot be judged: shapes that do not
// fit the gemm reference, an unknown reference, no output, too many tensors.
Result<ResolvedTask> ResolveTask(const Task& task, const Workload& workload);

// Whether the task can be judged for this workload: by ResolveTask, by its FLOPs, which must come to
// a number, and by its baselines, each of which must be one that the judge knows or one of the
// task's [[rivals]]. kBadInput, naming what is wrong and what to write instead.
Status CheckTask(const Task& task, const Workload& workload);

// The task that a reference process carries out: its outputs have the types of ResolvedTask::expected.
Task ReferenceTask(const Task& task);

// Role of each tensor of the task, in the task's order.
std::vector<size_t> RolesInTaskOrder(const Task& task);

ProblemBytes BytesOf(const ResolvedTask& problem);

// --- The roofline bound: the least time that arithmetic and memory allow in a timing mode.

// Rates of the parts we know, from NVIDIA's data sheets: dense FP16 tensor peak at the boost clock
// and memory bandwidth. The L2 rate is an upper estimate (no data sheet gives one), so that a bound
// is never too high. All 0 for a part not listed: its bounds are 0 and nothing is below them.
struct PartRates {
  double tensor_f16_flops = 0, hbm_bytes_per_s = 0, l2_bytes_per_s = 0;
};
PartRates RatesOf(std::string_view device_name);

// Bytes every launch must move at least: each input read once, each output written once.
Result<int64_t> CompulsoryBytes(const Task& task, const Workload& workload);

// max(FLOPs / tensor peak, bytes / rate), where the rate is L2's in hot modes (kDeviceHot,
// kOffline) as long as the bytes fit there, else HBM's. Needs the task's expressions to evaluate.
Result<double> RooflineUs(const DeviceInfo& device, const Task& task, const Workload& workload,
                          Mode mode);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RESOLVED_TASK_H_
