#include "cuda/plan/tensor_map_spec.h"

#include "base/result.h"
#include "core/dtype.h"

namespace warpsmith::plan {
namespace {

cuda::TensorElement ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return cuda::TensorElement::kF16;
    case DType::kBF16:
      return cuda::TensorElement::kBF16;
    case DType::kF32:
      return cuda::TensorElement::kF32;
    case DType::kF64:
      return cuda::TensorElement::kF64;
    case DType::kI8:
    case DType::kBool:
      return cuda::TensorElement::kU8;  // TMA moves bytes: the sign is the kernel's business
    case DType::kI32:
      return cuda::TensorElement::kI32;
    case DType::kI64:
      return cuda::TensorElement::kI64;
  }
  CHECK(false);
}

}  // namespace

cuda::TensorMapSpec SpecOf(const ResolvedTensorMap& map) {
  cuda::TensorMapSpec spec;
  spec.element = ElementOf(map.dtype);
  spec.dims = map.dims;
  spec.strides_bytes = map.strides_bytes;
  spec.box = map.box;
  spec.element_strides = map.element_strides;
  spec.swizzle_bytes = SwizzleBytes(map.swizzle);
  spec.interleave_bytes = map.interleave_bytes;
  spec.l2_promotion_bytes = map.l2_promotion_bytes;
  spec.fill_nan = map.fill_nan;
  return spec;
}

}  // namespace warpsmith::plan
