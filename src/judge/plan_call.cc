#include "judge/plan_call.h"

#include <memory>
#include <utility>

#include "core/resolved_plan.h"
#include "cuda/module.h"

namespace warpsmith::judge {

Result<PlanCall> PlanCall::Prepare(const LaunchPlan& plan, std::string_view image, const Task& task,
                                   const Workload& workload, const cuda::Context& context) {
  const int sm_count = context.device().sm_count;
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  ResolvedPlan resolved =
      TRY(Resolve(plan, task, workload.sizes, sm_count, plan::OccupancyOf(*module, sm_count)));
  auto prepared = TRY(plan::PreparedPlan::Prepare(std::move(resolved), std::move(module)));
  return PlanCall(std::move(prepared), TRY(cuda::Stream::Create()));
}

}  // namespace warpsmith::judge
