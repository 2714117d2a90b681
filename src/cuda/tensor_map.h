// TMA tensor maps (cuTensorMapEncodeTiled): the 128-byte descriptor that a kernel takes by value.
// CUDA driver API manual, "Tensor Map Object Management"; PTX ISA, "Tensor-map".
#ifndef WARPSMITH_CUDA_TENSOR_MAP_H_
#define WARPSMITH_CUDA_TENSOR_MAP_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

enum class TensorElement : uint8_t { kU8, kU16, kU32, kI32, kU64, kI64, kF16, kF32, kF64, kBF16 };

struct TensorMapSpec {
  TensorElement element = TensorElement::kF16;
  // Innermost dimension first, 1 to 5 of them; strides one fewer (the innermost is dense).
  std::vector<uint64_t> dims, strides_bytes;
  std::vector<uint32_t> box, element_strides;
  int swizzle_bytes = 0;       // 0, 32, 64, 128
  int interleave_bytes = 0;    // 0, 16, 32
  int l2_promotion_bytes = 0;  // 0, 64, 128, 256
  bool fill_nan = false;       // out-of-bounds elements read as NaN instead of zero
};

// A kernel's parameter of this type is `const __grid_constant__ CUtensorMap`, 64-byte aligned
// there.
struct TensorMap {
  std::array<uint64_t, 16> words{};
};

// kBadInput where the spec's own lists do not fit together; the driver's refusal names every field.
// `address` is 16-byte aligned (32 with interleave 32).
Result<TensorMap> EncodeTensorMap(DevicePointer address, const TensorMapSpec& spec);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_TENSOR_MAP_H_
