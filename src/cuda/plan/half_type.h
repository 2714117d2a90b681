// Core's element types of two bytes, as the CUDA libraries know them.
#ifndef WARPSMITH_CUDA_PLAN_HALF_TYPE_H_
#define WARPSMITH_CUDA_PLAN_HALF_TYPE_H_

#include "base/result.h"
#include "core/dtype.h"
#include "cuda/gemm.h"

namespace warpsmith::plan {

// `dtype` is kF16 or kBF16.
inline cuda::HalfType HalfTypeOf(DType dtype) {
  CHECK(dtype == DType::kF16 || dtype == DType::kBF16);
  return dtype == DType::kBF16 ? cuda::HalfType::kBF16 : cuda::HalfType::kF16;
}

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_HALF_TYPE_H_
