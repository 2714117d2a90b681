#include "judge/baseline/shared_handles.h"

#include <algorithm>

namespace warpsmith::baseline {
namespace {

constexpr size_t kMostMatmuls = 16;  // kept: those of a shape or two are asked for again and again

std::string KeyOf(const cuda::GemmShape& shape) {
  std::string key;
  for (const int64_t extent : {shape.m, shape.n, shape.k}) key += std::to_string(extent) + " ";
  return key + std::to_string(static_cast<int>(shape.layout)) +
         std::to_string(static_cast<int>(shape.type));
}

}  // namespace

Result<std::shared_ptr<const cuda::Cublas>> SharedHandles::CublasOf(cuda::HalfType type) {
  auto& known = cublas_[type];
  if (known == nullptr) {
    known = std::make_shared<const cuda::Cublas>(TRY(cuda::Cublas::Create(type)));
  }
  return known;
}

Result<std::shared_ptr<const cuda::LtMatmul>> SharedHandles::MatmulOf(
    const cuda::GemmShape& shape) {
  const std::string key = KeyOf(shape);
  if (const auto known = matmuls_.find(key); known != matmuls_.end()) return known->second;
  auto made = std::make_shared<const cuda::LtMatmul>(TRY(cuda::LtMatmul::Create(shape)));
  if (matmuls_.size() >= kMostMatmuls) matmuls_.clear();
  matmuls_.emplace(key, made);
  return made;
}

Result<std::shared_ptr<const cuda::DeviceBuffer>> SharedHandles::Workspace(size_t bytes) {
  if (workspace_ == nullptr || workspace_->bytes() < bytes) {
    workspace_ = std::make_shared<const cuda::DeviceBuffer>(
        TRY(cuda::DeviceBuffer::Allocate(std::max(bytes, kLibraryWorkspaceBytes))));
  }
  return workspace_;
}

}  // namespace warpsmith::baseline
