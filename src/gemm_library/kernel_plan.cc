#include "gemm_library/kernel_plan.h"

#include <array>
#include <string>
#include <utility>

#include "core/task.h"
#include "cuda/plan/prepared_plan.h"

namespace warpsmith::gemm_library {
namespace {

static_assert(kMostArguments <= plan::kMostPatchedArguments);

// What the steps' places count from: the order of the addresses that Run hands over.
constexpr int kWorkspaceBase = 3;

// The task whose tensors a plan speaks of, of dense matrices.
Task TaskOf(const PackKernel& kernel) {
  const auto size = [](const char* name) { return Expression::Literal(name); };
  const bool row_major_b = kernel.layout == hgemm::Layout::kNN;
  Task task;
  task.tensors = {{"A", kernel.dtype, Role::kInput, {size("M"), size("K")}},
                  {"B",
                   kernel.dtype,
                   Role::kInput,
                   {size(row_major_b ? "K" : "N"), size(row_major_b ? "N" : "K")}},
                  {"C", kernel.dtype, Role::kOutput, {size("M"), size("N")}}};
  return task;
}

// The matrices as the caller lays them out, and the plan's workspaces one after the other in the
// caller's; `workspace_bytes` becomes what they take.
plan::Memories MemoriesOf(const CheckedProblem& checked, const ResolvedPlan& resolved,
                          size_t& workspace_bytes) {
  plan::Memories memories;
  for (const int matrix : {0, 1, 2}) {
    const Storage& storage = checked.storage[static_cast<size_t>(matrix)];
    plan::Memory memory{{matrix, 0}, storage.bytes()};
    if (!storage.dense()) {
      memory.rows = static_cast<uint64_t>(storage.rows);
      memory.row_bytes = 2 * static_cast<uint64_t>(storage.columns);
      memory.pitch_bytes = 2 * static_cast<uint64_t>(storage.leading);
    }
    memories[std::string(1, "ABC"[matrix])] = memory;
  }
  workspace_bytes = 0;
  for (const ResolvedWorkspace& workspace : resolved.workspaces) {
    memories[workspace.name] = {{kWorkspaceBase, workspace_bytes}, workspace.bytes};
    workspace_bytes += (static_cast<uint64_t>(workspace.bytes) + kWorkspaceAlignment - 1) /
                       kWorkspaceAlignment * kWorkspaceAlignment;
  }
  return memories;
}

}  // namespace

Result<KernelPlan> KernelPlan::Prepare(const PackKernel& kernel, const CheckedProblem& checked,
                                       std::shared_ptr<const cuda::Module> module, int sm_count) {
  TRY(CanCarryOut(kernel.plan));
  const Problem& problem = checked.problem;
  const Sizes sizes = {{"M", problem.m}, {"N", problem.n}, {"K", problem.k}};
  const ResolvedPlan resolved = TRY(
      Resolve(kernel.plan, TaskOf(kernel), sizes, sm_count, plan::OccupancyOf(*module, sm_count)));
  KernelPlan made;
  made.module_ = std::move(module);
  made.launches_ = TRY(plan::PrepareLaunches(resolved, *made.module_));
  const plan::Memories memories = MemoriesOf(checked, resolved, made.workspace_bytes_);
  made.steps_ = TRY(plan::MakeSteps(resolved, made.launches_, {}, memories));
  return made;
}

Status KernelPlan::Run(const Addresses& addresses, CUstream_st* stream) const {
  const std::array<cuda::DevicePointer, 4> bases = {addresses.a, addresses.b, addresses.c,
                                                    addresses.workspace};
  return plan::RunSteps(steps_, bases, stream);
}

}  // namespace warpsmith::gemm_library
