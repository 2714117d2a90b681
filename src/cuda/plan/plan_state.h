// What a PreparedPlan holds and its BoundPlans share. Private to this folder.
#ifndef WARPSMITH_CUDA_PLAN_PLAN_STATE_H_
#define WARPSMITH_CUDA_PLAN_PLAN_STATE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/resolved_plan.h"
#include "cuda/kernel_launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"

namespace warpsmith::plan {

// Device memory that an operation works on.
struct Region {
  cuda::DevicePointer address = 0;
  int64_t bytes = 0;
};

struct PlanState {
  ResolvedPlan plan;
  std::shared_ptr<const cuda::Module> module;
  // One per operation of the plan; empty for those that are no launch.
  std::vector<cuda::Function> functions;
  std::vector<cuda::LaunchConfig> configs;
  std::vector<cuda::DeviceBuffer> workspaces;  // one per workspace of the plan
  cuda::DeviceBuffer tables;                   // all constant tables, each 256-byte aligned
  std::map<std::pair<size_t, size_t>, cuda::DevicePointer> table_of;  // (operation, argument)
};

cuda::LaunchConfig ConfigOf(const ResolvedLaunch& launch);

// Sets what the kernel needs before a launch of this kind, or an occupancy query about it.
Status SetAttributes(const cuda::Function& function, const ResolvedLaunch& launch);

// "operations[2]", "operations[2].arguments[1]"
std::string OperationText(size_t operation);
std::string ArgumentText(size_t operation, size_t argument);

// The same error, with where it happened in front.
Error Within(const std::string& place, Error error);

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_PLAN_STATE_H_
