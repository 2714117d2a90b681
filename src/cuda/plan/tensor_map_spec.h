// A plan's TMA descriptor in the driver's terms.
#ifndef WARPSMITH_CUDA_PLAN_TENSOR_MAP_SPEC_H_
#define WARPSMITH_CUDA_PLAN_TENSOR_MAP_SPEC_H_

#include "core/resolved_tensor_map.h"
#include "cuda/tensor_map.h"

namespace warpsmith::plan {

cuda::TensorMapSpec SpecOf(const ResolvedTensorMap& map);

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_TENSOR_MAP_SPEC_H_
