#include "cuda/lt_functions.h"

#include "cuda/blas.h"

namespace warpsmith::cuda {

Result<LtNativePreference> LtNativePreference::Create(const LtFunctions& api,
                                                      size_t workspace_bytes,
                                                      const LtAlignment& alignment, LtSums sums) {
  LtNativePreference preference(api);
  const cublasStatus_t made = api.cublasLtMatmulPreferenceCreate(&preference.handle_);
  if (made != CUBLAS_STATUS_SUCCESS) return BlasError("cublasLtMatmulPreferenceCreate", made, "");
  const auto limit = static_cast<uint64_t>(workspace_bytes);
  TRY(preference.Set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit), "workspace"));
  if (sums == LtSums::kInFp32) {
    const auto mask = static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    TRY(preference.Set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &mask, sizeof(mask),
                       "reductions"));
  }
  // Their A is our B.
  for (const auto& [which, bytes] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment.b_bytes),
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment.a_bytes},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.c_bytes},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.c_bytes}}) {
    TRY(preference.Set(which, &bytes, sizeof(bytes), "alignment"));
  }
  return preference;
}

LtNativePreference::~LtNativePreference() {
  if (handle_ != nullptr) api_->cublasLtMatmulPreferenceDestroy(handle_);
}

Status LtNativePreference::Set(cublasLtMatmulPreferenceAttributes_t which, const void* value,
                               size_t bytes, const char* what) const {
  const cublasStatus_t status =
      api_->cublasLtMatmulPreferenceSetAttribute(handle_, which, value, bytes);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return BlasError("cublasLtMatmulPreferenceSetAttribute", status, what);
}

}  // namespace warpsmith::cuda
