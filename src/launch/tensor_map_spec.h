// A plan's TMA descriptor in the driver's terms.
#ifndef WARPSMITH_LAUNCH_TENSOR_MAP_SPEC_H_
#define WARPSMITH_LAUNCH_TENSOR_MAP_SPEC_H_

#include "core/resolved_tensor_map.h"
#include "cuda/tensor_map.h"

namespace warpsmith::launch {

cuda::TensorMapSpec SpecOf(const ResolvedTensorMap& map);

}  // namespace warpsmith::launch

#endif  // WARPSMITH_LAUNCH_TENSOR_MAP_SPEC_H_
