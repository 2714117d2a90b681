// Core's element types of two bytes, as the CUDA libraries know them.
#ifndef WARPSMITH_LAUNCH_HALF_TYPE_H_
#define WARPSMITH_LAUNCH_HALF_TYPE_H_

#include "core/dtype.h"
#include "cuda/gemm.h"
#include "util/result.h"

namespace warpsmith::launch {

// `dtype` is kF16 or kBF16.
inline cuda::HalfType HalfTypeOf(DType dtype) {
  CHECK(dtype == DType::kF16 || dtype == DType::kBF16);
  return dtype == DType::kBF16 ? cuda::HalfType::kBF16 : cuda::HalfType::kF16;
}

}  // namespace warpsmith::launch

#endif  // WARPSMITH_LAUNCH_HALF_TYPE_H_
