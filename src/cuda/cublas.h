// cuBLAS: cublasGemmEx with its default choice of kernel.
#ifndef WARPSMITH_CUDA_CUBLAS_H_
#define WARPSMITH_CUDA_CUBLAS_H_

#include <string>

#include "base/result.h"
#include "cuda/gemm.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

namespace warpsmith::cuda {

// Not thread-safe. Its calls can be captured in a graph: the workspace is its own and fixed.
class Cublas {
 public:
  // For products of one type, in the current context. BF16's partial sums are added in FP32, as the
  // judge wants them; FP16's are left to the library, which is what they always were here.
  static Result<Cublas> Create(HalfType type);
  Cublas(Cublas&& other) noexcept;
  Cublas& operator=(Cublas&&) = delete;
  ~Cublas();

  // CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT.
  Status Gemm(const GemmShape& shape, const GemmOperands& operands, const Stream& stream) const;

 private:
  Cublas(void* handle, HalfType type, DeviceBuffer workspace);
  void* handle_;
  HalfType type_;
  DeviceBuffer workspace_;
  // The stream that handle and workspace were bound to last: a caller binds them once, not at every
  // product.
  mutable const void* bound_stream_ = nullptr;
};

Result<std::string> CublasVersion();  // "cuBLAS 13.1.0"; needs no GPU

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_CUBLAS_H_
