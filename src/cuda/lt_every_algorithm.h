// All configurations of cuBLASLt's algorithms, by what their capabilities say. Private to this
// folder.
#ifndef WARPSMITH_CUDA_LT_EVERY_ALGORITHM_H_
#define WARPSMITH_CUDA_LT_EVERY_ALGORITHM_H_

#include <cublasLt.h>

#include <functional>

#include "base/result.h"

namespace warpsmith::cuda {

// Calls `take` with one configuration after the other, algorithms taking turns, each algorithm's
// in a scattered order, none twice, until all were had or `seconds` are over. Whether a
// configuration fits a product is for cublasLtMatmulAlgoCheck to say. FP32 sums, all operands of
// `type`.
Status ForEveryAlgorithm(cublasLtHandle_t library, cudaDataType_t type, double seconds,
                         const std::function<void(const cublasLtMatmulAlgo_t&)>& take);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_LT_EVERY_ALGORITHM_H_
