// The part of resolved_plan.cc about tensor maps.
#ifndef WARPSMITH_CORE_RESOLVED_TENSOR_MAP_H_
#define WARPSMITH_CORE_RESOLVED_TENSOR_MAP_H_

#include "core/resolved_plan.h"

namespace warpsmith {

// Evaluates the map's fields and holds them to what cuTensorMapEncodeTiled demands (CUDA Driver
// API, "Tensor Map Object Management"), and to the `memory_bytes` that its tensor or workspace has.
// The address's alignment is checked where there is an address.
Result<ResolvedTensorMap> ResolveTensorMap(const TensorMapArgument& map, const Sizes& names,
                                           int64_t memory_bytes);

int SwizzleBytes(Swizzle swizzle);  // 0 for none

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_RESOLVED_TENSOR_MAP_H_
