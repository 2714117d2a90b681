#include "cuda/blas.h"

#include "cuda/failure.h"

namespace warpsmith::cuda {
namespace {

struct StatusName {
  int status;
  const char* name;
  const char* words;
};

// cublasStatus_t, whose own text function would tie cuBLASLt to cuBLAS's library.
constexpr StatusName kNames[] = {
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library could not start on this device"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "out of memory"},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "an argument is invalid"},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", "this device lacks a feature"},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", "an access to device memory failed"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "the kernel failed"},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "no kernel for this product"},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", "license check failed"},
};

}  // namespace

Error BlasError(const char* call, int status, const std::string& detail) {
  for (const StatusName& row : kNames) {
    if (row.status == status) return ErrorFrom({call, row.name, row.words, detail});
  }
  return ErrorFrom({call, "CUBLAS_STATUS_" + std::to_string(status), "unknown", detail});
}

Status CheckedBlas(const char* call, int status, const std::string& detail) {
  if (status == 0) return {};  // CUBLAS_STATUS_SUCCESS
  return BlasError(call, status, detail);
}

std::string ShapeText(const GemmShape& shape) {
  return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
         std::to_string(shape.k) + (shape.layout == GemmLayout::kNN ? " NN" : " TN") +
         (shape.type == HalfType::kBF16 ? " BF16" : "");
}

cudaDataType_t DataType(HalfType type) {
  return type == HalfType::kBF16 ? CUDA_R_16BF : CUDA_R_16F;
}

ColumnMajorGemm ColumnMajor(const GemmShape& shape) {
  // k x n row-major is n x k column-major; n x k row-major is k x n column-major, to be transposed.
  if (shape.layout == GemmLayout::kNN) return {false, shape.n, shape.k};
  return {true, shape.k, shape.n};
}

}  // namespace warpsmith::cuda
