#include "core/task.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/serialize.h"

namespace warpsmith {
namespace {

constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

Error BadShape(const TensorSpec& tensor, const std::string& what) {
  return Error{ErrorCode::kBadInput, "tensor " + tensor.name + ": " + what, ""};
}

}  // namespace

// Workloads are not part of it: their sizes are keyed beside it, and a new one changes no verdict.
std::string TaskId(const Task& task) {
  nlohmann::json json = ToJson(task);
  for (const char* field : {"name", "workloads", "forms", "origin", "headline"}) json.erase(field);
  return Sha256Hex(json.dump());
}

Result<std::vector<int64_t>> Extents(const TensorSpec& tensor, const Sizes& sizes) {
  std::vector<int64_t> extents;
  int64_t bytes = ElementBytes(tensor.dtype);
  for (const Expression& expression : tensor.shape) {
    const Result<int64_t> extent = expression.Evaluate(sizes);
    if (!extent.ok()) return BadShape(tensor, extent.error().message);
    if (*extent < 1) {
      return BadShape(tensor, "extent \"" + expression.text() + "\" is " + std::to_string(*extent) +
                                  ", must be at least 1");
    }
    if (__builtin_mul_overflow(bytes, *extent, &bytes) || bytes >= kMaxTensorBytes) {
      return BadShape(tensor, "1 TiB or more with extent \"" + expression.text() +
                                  "\" = " + std::to_string(*extent));
    }
    extents.push_back(*extent);
  }
  return extents;
}

Result<int64_t> TensorBytes(const TensorSpec& tensor, const Sizes& sizes) {
  int64_t bytes = ElementBytes(tensor.dtype);
  for (const int64_t extent : TRY(Extents(tensor, sizes))) bytes *= extent;
  return bytes;
}

}  // namespace warpsmith
