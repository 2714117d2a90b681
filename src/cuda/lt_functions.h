// What is called of cuBLASLt, wherever its library comes from. Only .cc files here include this.
#ifndef WARPSMITH_CUDA_LT_FUNCTIONS_H_
#define WARPSMITH_CUDA_LT_FUNCTIONS_H_

#include <cublasLt.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "base/result.h"
#include "cuda/cublaslt.h"
#include "cuda/library.h"
#include "cuda/lt_product.h"

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

// What cuBLASLt's heuristic may choose from. Only .cc files here include this.

// kAny allows partial sums that are added in the output's type, which are as exact as that: in BF16
// with odd strides 15 times less than FP32 sums.
enum class LtSums : uint8_t { kAny, kInFp32 };

class LtNativePreference {
 public:
  static Result<LtNativePreference> Create(const LtFunctions& api, size_t workspace_bytes,
                                           const LtAlignment& alignment, LtSums sums);
  LtNativePreference(LtNativePreference&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  LtNativePreference& operator=(LtNativePreference&&) = delete;
  ~LtNativePreference();

  cublasLtMatmulPreference_t handle() const { return handle_; }

 private:
  explicit LtNativePreference(const LtFunctions& api) : api_(&api) {}
  Status Set(cublasLtMatmulPreferenceAttributes_t which, const void* value, size_t bytes,
             const char* what) const;

  const LtFunctions* api_;
  cublasLtMatmulPreference_t handle_ = nullptr;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_LT_FUNCTIONS_H_
