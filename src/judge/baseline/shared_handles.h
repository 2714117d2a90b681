// What the libraries' products of one process share, since they run one at a time: handles, which
// take milliseconds to make, descriptions of products, and scratch memory.
#ifndef WARPSMITH_JUDGE_BASELINE_SHARED_HANDLES_H_
#define WARPSMITH_JUDGE_BASELINE_SHARED_HANDLES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/gemm.h"
#include "cuda/memory.h"

namespace warpsmith::baseline {

inline constexpr size_t kLibraryWorkspaceBytes = size_t{32} << 20;  // cuBLAS's own on sm_90

// Of one context. What it hands out may outlive it, and must not outlive the context.
class SharedHandles {
 public:
  Result<std::shared_ptr<const cuda::Cublas>> CublasOf(cuda::HalfType type);
  Result<std::shared_ptr<const cuda::LtMatmul>> MatmulOf(const cuda::GemmShape& shape);
  // kLibraryWorkspaceBytes, or as many as are asked for where that is more.
  Result<std::shared_ptr<const cuda::DeviceBuffer>> Workspace(size_t bytes);

 private:
  std::map<cuda::HalfType, std::shared_ptr<const cuda::Cublas>> cublas_;
  std::map<std::string, std::shared_ptr<const cuda::LtMatmul>> matmuls_;
  std::shared_ptr<const cuda::DeviceBuffer> workspace_;
};

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_SHARED_HANDLES_H_
