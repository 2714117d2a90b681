// What cuBLASLt's heuristic may choose from. Only .cc files here include this.
#ifndef WARPSMITH_CUDA_LT_PREFERENCE_H_
#define WARPSMITH_CUDA_LT_PREFERENCE_H_

#include <cstddef>
#include <utility>

#include "base/result.h"
#include "cuda/lt_functions.h"
#include "cuda/lt_product.h"

namespace warpsmith::cuda {

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

#endif  // WARPSMITH_CUDA_LT_PREFERENCE_H_
