#include "cuda/kernel_launch.h"
#include "cuda/plan/plan_state.h"
#include "cuda/plan/prepared_plan.h"

namespace warpsmith::plan {

ClusterOccupancy OccupancyOf(const cuda::Module& module, int sm_count) {
  return [&module, sm_count](const ResolvedLaunch& launch) -> Result<int64_t> {
    const cuda::Function function = TRY(module.Kernel(launch.kernel));
    TRY(SetAttributes(function, launch));
    const cuda::LaunchConfig config = ConfigOf(launch);
    if (config.cluster[0] * config.cluster[1] * config.cluster[2] > 1) {
      return int64_t{TRY(cuda::MaxActiveClusters(function, config))};
    }
    return int64_t{TRY(cuda::MaxActiveBlocksPerSm(function, config))} * sm_count;
  };
}

}  // namespace warpsmith::plan
