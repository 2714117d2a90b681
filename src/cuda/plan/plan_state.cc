#include "cuda/plan/plan_state.h"

namespace warpsmith::plan {

cuda::LaunchConfig ConfigOf(const ResolvedLaunch& launch) {
  cuda::LaunchConfig config;
  config.grid = launch.grid;
  config.block = launch.block;
  config.cluster = launch.cluster;
  config.shared_bytes = launch.shared_bytes;
  config.cooperative = launch.cooperative;
  config.programmatic = launch.programmatic;
  return config;
}

Status SetAttributes(const cuda::Function& function, const ResolvedLaunch& launch) {
  TRY(cuda::RaiseMaxDynamicShared(function, launch.shared_bytes));
  if (launch.nonportable_cluster) TRY(cuda::AllowNonPortableCluster(function));
  return {};
}

std::string OperationText(size_t operation) {
  return "operations[" + std::to_string(operation) + "]";
}

std::string ArgumentText(size_t operation, size_t argument) {
  return OperationText(operation) + ".arguments[" + std::to_string(argument) + "]";
}

Error Within(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return error;
}

}  // namespace warpsmith::plan
