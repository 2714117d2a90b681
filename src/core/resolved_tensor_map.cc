#include "core/resolved_tensor_map.h"

#include <algorithm>
#include <string>

namespace warpsmith {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 32;
constexpr int64_t kMaxStrideBytes = (int64_t{1} << 40) - 1;
constexpr int64_t kMaxBox = 256, kMaxElementStride = 8;

template <typename T>
Status ResolveList(const char* field, const std::vector<Expression>& expressions,
                   const Sizes& names, int64_t highest, std::vector<T>& values) {
  for (size_t i = 0; i < expressions.size(); ++i) {
    const std::string place = std::string(field) + "[" + std::to_string(i) + "]: ";
    const Result<int64_t> value = expressions[i].Evaluate(names);
    if (!value.ok()) return BadInput(place + value.error().message);
    if (*value < 1 || *value > highest) {
      return BadInput(place + "\"" + expressions[i].text() + "\" is " + std::to_string(*value) +
                      ", must be from 1 to " + std::to_string(highest));
    }
    values.push_back(static_cast<T>(*value));
  }
  return {};
}

Status CheckRanks(const TensorMapArgument& map) {
  const size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return BadInput("dims: must be 1 to 5 dimensions");
  if (map.strides_bytes.size() != rank - 1 || map.box.size() != rank ||
      map.element_strides.size() != rank) {
    return BadInput("strides_bytes must be one fewer than dims; box and element_strides as many");
  }
  if (map.interleave_bytes != 0 && rank < 3)
    return BadInput("interleave needs at least 3 dimensions");
  return {};
}

Status CheckBox(const TensorMapArgument& map, const ResolvedTensorMap& resolved) {
  const int64_t inner_bytes = resolved.box[0] * ElementBytes(map.dtype);
  if (map.interleave_bytes == 0 && inner_bytes % 16 != 0) {
    return BadInput("box[0]: " + std::to_string(inner_bytes) + " bytes, must be a multiple of 16");
  }
  const int64_t swizzle_bytes = SwizzleBytes(map.swizzle);
  if (swizzle_bytes != 0 && map.interleave_bytes == 0 && inner_bytes > swizzle_bytes) {
    return BadInput("box[0]: " + std::to_string(inner_bytes) + " bytes, more than the swizzle's " +
                    std::to_string(swizzle_bytes));
  }
  if (map.interleave_bytes == 32 && map.swizzle != Swizzle::k32B) {
    return BadInput("interleave_bytes 32 needs swizzle 32B");
  }
  return {};
}

Status CheckStrides(const TensorMapArgument& map, const ResolvedTensorMap& resolved) {
  const uint64_t multiple = map.interleave_bytes == 32 ? 32 : 16;
  for (size_t i = 0; i < resolved.strides_bytes.size(); ++i) {
    if (resolved.strides_bytes[i] % multiple == 0) continue;
    return BadInput("strides_bytes[" + std::to_string(i) +
                    "]: " + std::to_string(resolved.strides_bytes[i]) + ", must be a multiple of " +
                    std::to_string(multiple));
  }
  return {};
}

// The last element that the map reaches must lie in the memory it is laid over.
Status CheckExtent(const ResolvedTensorMap& map, int64_t memory_bytes) {
  const auto element_bytes = static_cast<unsigned __int128>(ElementBytes(map.dtype));
  unsigned __int128 end = map.dims[0] * element_bytes;
  for (size_t i = 1; i < map.dims.size(); ++i) {
    end += static_cast<unsigned __int128>(map.dims[i] - 1) * map.strides_bytes[i - 1];
  }
  if (end <= static_cast<unsigned __int128>(memory_bytes)) return {};
  return BadInput("reaches past the " + std::to_string(memory_bytes) + " bytes of " + map.tensor);
}

}  // namespace

int SwizzleBytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone:
      return 0;
    case Swizzle::k32B:
      return 32;
    case Swizzle::k64B:
      return 64;
    case Swizzle::k128B:
      return 128;
  }
  std::abort();
}

Result<ResolvedTensorMap> ResolveTensorMap(const TensorMapArgument& map, const Sizes& names,
                                           int64_t memory_bytes) {
  TRY(CheckRanks(map));
  ResolvedTensorMap resolved;
  resolved.tensor = map.tensor;
  resolved.dtype = map.dtype;
  resolved.swizzle = map.swizzle;
  resolved.interleave_bytes = map.interleave_bytes;
  resolved.l2_promotion_bytes = map.l2_promotion_bytes;
  resolved.fill_nan = map.fill_nan;
  TRY(ResolveList("dims", map.dims, names, kMaxDim, resolved.dims));
  TRY(ResolveList("strides_bytes", map.strides_bytes, names, kMaxStrideBytes,
                  resolved.strides_bytes));
  TRY(ResolveList("box", map.box, names, kMaxBox, resolved.box));
  TRY(ResolveList("element_strides", map.element_strides, names, kMaxElementStride,
                  resolved.element_strides));
  TRY(CheckBox(map, resolved));
  TRY(CheckStrides(map, resolved));
  TRY(CheckExtent(resolved, memory_bytes));
  return resolved;
}

}  // namespace warpsmith
