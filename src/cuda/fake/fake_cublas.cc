// cuBLAS on host memory, for tests without a GPU: cublasGemmEx alone. Slow on the device's clock,
// but it submits at once where the fake cuBLASLt takes its time.
#include <cublas_v2.h>

#include "cuda/fake/fake_product.h"

namespace {

struct Handle {
  CUstream_st* stream = nullptr;
};

Handle& As(cublasHandle_t handle) { return *reinterpret_cast<Handle*>(handle); }

warpsmith::cuda::fake::Matrix Stored(cudaDataType type, bool transposed, int64_t rows,
                                     int64_t columns, int64_t leading) {
  if (transposed) std::swap(rows, columns);
  return {type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading};
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete &As(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  As(handle).stream = reinterpret_cast<CUstream_st*>(stream);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? 13 : type == MINOR_VERSION ? 99 : 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                               cublasOperation_t transpose_b, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                               const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                               void* c, cudaDataType c_type, int64_t ldc, cublasComputeType_t,
                               cublasGemmAlgo_t) {
  const bool turn_a = transpose_a == CUBLAS_OP_T, turn_b = transpose_b == CUBLAS_OP_T;
  const warpsmith::cuda::fake::Product product{{turn_a, turn_b},
                                               Stored(a_type, turn_a, m, k, lda),
                                               Stored(b_type, turn_b, k, n, ldb),
                                               Stored(c_type, false, m, n, ldc),
                                               a,
                                               b,
                                               c,
                                               *static_cast<const float*>(alpha),
                                               *static_cast<const float*>(beta)};
  warpsmith::cuda::fake::SubmitProduct(As(handle).stream, product, {2.5F, 0});
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
