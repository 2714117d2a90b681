// The one product that the baselines compute: C (m x n) = A (m x k) * B (k x n), half precision in
// and out, FP32 accumulation, alpha 1, beta 0. All row-major and dense.
#ifndef WARPSMITH_CUDA_GEMM_H_
#define WARPSMITH_CUDA_GEMM_H_

#include <cstdint>

#include "cuda/types.h"

namespace warpsmith::cuda {

// How B is stored. In cuBLAS's column-major terms A's and B's roles swap, which gives these names.
enum class GemmLayout : uint8_t {
  kNN,  // k x n
  kTN,  // n x k
};

// Of A, B and C alike; two bytes each.
enum class HalfType : uint8_t { kF16, kBF16 };

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  GemmLayout layout = GemmLayout::kTN;
  HalfType type = HalfType::kF16;
};

struct GemmOperands {
  DevicePointer a = 0, b = 0, c = 0;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_GEMM_H_
