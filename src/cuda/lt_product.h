// cuBLASLt for any product of half-precision matrices: all four storages, any leading dimension,
// alpha and beta. In the current context and the caller's streams; it allocates no device memory.
// (cublaslt.h is the baseline: one dense product, timed.)
#ifndef WARPSMITH_CUDA_LT_PRODUCT_H_
#define WARPSMITH_CUDA_LT_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "cuda/cublaslt.h"
#include "cuda/gemm.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// C (m x n) = alpha op(A) op(B) + beta C, FP32 accumulation; row-major, leading dimensions in
// elements. A is stored m x k, or k x m when transposed; B k x n, or n x k.
struct LtProductSpec {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  HalfType type = HalfType::kF16;
  bool operator==(const LtProductSpec&) const = default;
};

// What every caller promises of a product's addresses.
struct LtAlignment {
  uint32_t a_bytes = 16, b_bytes = 16, c_bytes = 16;
};

struct LtProductCall {
  float alpha = 1, beta = 0;
  DevicePointer a = 0, b = 0, c = 0, workspace = 0;
  size_t workspace_bytes = 0;
  CUstream_st* stream = nullptr;
};

struct LtFunctions;

// The library, opened: $WARPSMITH_CUBLASLT if set, the copy that the process has already, else as
// library.h searches. Version 13, or 12. Shared by all products.
class LtLibrary {
 public:
  // kUnavailable: none of these versions is found, or it does not start.
  static Result<std::shared_ptr<const LtLibrary>> Open();
  explicit LtLibrary(std::unique_ptr<LtFunctions> functions);
  ~LtLibrary();
  const std::string& version() const { return version_; }  // "cuBLASLt 13.1.0"
  const LtFunctions& functions() const { return *functions_; }
  void* handle() const { return handle_; }

 private:
  Status Start();
  std::unique_ptr<LtFunctions> functions_;
  std::string version_;
  void* handle_ = nullptr;  // cublasLtHandle_t
};

// One product with its algorithm. Run is thread-safe.
class LtProduct {
 public:
  static Result<LtProduct> Create(std::shared_ptr<const LtLibrary> library,
                                  const LtProductSpec& spec);
  LtProduct(LtProduct&&) noexcept;
  LtProduct& operator=(LtProduct&&) noexcept;
  ~LtProduct();

  // The heuristic's first answer within so much workspace. kUnavailable: it has none.
  Status Choose(size_t workspace_limit_bytes, const LtAlignment& alignment);
  // An algorithm of the same library version; kBadInput when it is refused here or needs more.
  Status Take(const LtAlgorithm& algorithm, size_t workspace_limit_bytes);

  // What the algorithm that was chosen or taken needs.
  size_t workspace_bytes() const;
  // After Choose or Take. Does not wait; alpha and beta are read before it returns.
  Status Run(const LtProductCall& call) const;

 private:
  struct State;
  explicit LtProduct(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_LT_PRODUCT_H_
