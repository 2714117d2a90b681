// What cuBLAS and cuBLASLt have in common: their status codes and their column-major view of a
// product. Private to this folder.
#ifndef WARPSMITH_CUDA_BLAS_H_
#define WARPSMITH_CUDA_BLAS_H_

#include <library_types.h>

#include <string>

#include "base/result.h"
#include "cuda/gemm.h"

namespace warpsmith::cuda {

// `status` is a cublasStatus_t.
Error BlasError(const char* call, int status, const std::string& detail);
Status CheckedBlas(const char* call, int status, const std::string& detail);

// "4096 x 4096 x 4096 TN", with " BF16" where it is not FP16
std::string ShapeText(const GemmShape& shape);

cudaDataType_t DataType(HalfType type);

// The shape as a column-major library sees it: C^T (n x m) = B^T * A^T, so B is its first operand.
struct ColumnMajorGemm {
  bool transpose_first = false;  // the operand that is our B
  int64_t first_rows = 0, first_columns = 0;
};
ColumnMajorGemm ColumnMajor(const GemmShape& shape);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_BLAS_H_
