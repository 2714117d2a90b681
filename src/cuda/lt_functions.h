// What is called of cuBLASLt, wherever its library comes from. Only .cc files here include this.
#ifndef WARPSMITH_CUDA_LT_FUNCTIONS_H_
#define WARPSMITH_CUDA_LT_FUNCTIONS_H_

#include <cublasLt.h>

#include <cstring>

#include "cuda/cublaslt.h"
#include "cuda/symbol_table.h"

namespace warpsmith::cuda {

// clang-format off
#define WARPSMITH_CUBLASLT_FUNCTIONS(X)                                                 \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetProperty) X(cublasLtMatmulDescCreate) \
  X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute)                          \
  X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy)                            \
  X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)                    \
  X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic)               \
  X(cublasLtMatmulAlgoCheck) X(cublasLtMatmul)
// clang-format on

struct LtFunctions {
  WARPSMITH_CUBLASLT_FUNCTIONS(WARPSMITH_MEMBER)
};

inline cublasLtMatmulAlgo_t Native(const LtAlgorithm& algorithm) {
  cublasLtMatmulAlgo_t native;
  static_assert(sizeof(native) == sizeof(algorithm.bytes));
  std::memcpy(&native, algorithm.bytes.data(), sizeof(native));
  return native;
}

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_LT_FUNCTIONS_H_
