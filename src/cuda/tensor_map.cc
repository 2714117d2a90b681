#include "cuda/tensor_map.h"

#include <algorithm>
#include <span>
#include <string>

#include "cuda/driver_api.h"

namespace warpsmith::cuda {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

constexpr CUtensorMapDataType kTypes[] = {
    CU_TENSOR_MAP_DATA_TYPE_UINT8,   CU_TENSOR_MAP_DATA_TYPE_UINT16,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,  CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,  CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
};

template <typename T>
struct ByBytes {
  int bytes;
  T value;
};

constexpr ByBytes<CUtensorMapSwizzle> kSwizzles[] = {
    {0, CU_TENSOR_MAP_SWIZZLE_NONE},
    {32, CU_TENSOR_MAP_SWIZZLE_32B},
    {64, CU_TENSOR_MAP_SWIZZLE_64B},
    {128, CU_TENSOR_MAP_SWIZZLE_128B},
};
constexpr ByBytes<CUtensorMapInterleave> kInterleaves[] = {
    {0, CU_TENSOR_MAP_INTERLEAVE_NONE},
    {16, CU_TENSOR_MAP_INTERLEAVE_16B},
    {32, CU_TENSOR_MAP_INTERLEAVE_32B},
};
constexpr ByBytes<CUtensorMapL2promotion> kPromotions[] = {
    {0, CU_TENSOR_MAP_L2_PROMOTION_NONE},
    {64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
    {128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
    {256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
};

template <typename T>
Result<T> Choose(std::span<const ByBytes<T>> choices, int bytes, const char* field) {
  for (const ByBytes<T>& choice : choices) {
    if (choice.bytes == bytes) return choice.value;
  }
  return Error{ErrorCode::kBadInput,
               std::string("tensor map: ") + field + " cannot be " + std::to_string(bytes), ""};
}

template <typename T>
std::string List(const std::vector<T>& values) {
  std::string text = "[";
  for (const T value : values) text += (text.size() == 1 ? "" : ", ") + std::to_string(value);
  return text + "]";
}

std::string DescribeMap(DevicePointer address, const TensorMapSpec& spec) {
  return "dims " + List(spec.dims) + ", strides " + List(spec.strides_bytes) + " B, box " +
         List(spec.box) + ", element strides " + List(spec.element_strides) + ", swizzle " +
         std::to_string(spec.swizzle_bytes) + ", interleave " +
         std::to_string(spec.interleave_bytes) + ", address aligned to " +
         std::to_string(address & (~address + 1));
}

Status CheckRanks(const TensorMapSpec& spec) {
  const size_t rank = spec.dims.size();
  if (rank >= 1 && rank <= 5 && spec.strides_bytes.size() == rank - 1 && spec.box.size() == rank &&
      spec.element_strides.size() == rank) {
    return {};
  }
  return Error{ErrorCode::kBadInput,
               "tensor map: needs 1 to 5 dims, one stride fewer, and as many box and element "
               "strides; found " +
                   DescribeMap(0, spec),
               ""};
}

}  // namespace

Result<TensorMap> EncodeTensorMap(DevicePointer address, const TensorMapSpec& spec) {
  TRY(CheckRanks(spec));
  const auto swizzle = TRY(Choose<CUtensorMapSwizzle>(kSwizzles, spec.swizzle_bytes, "swizzle"));
  const auto interleave =
      TRY(Choose<CUtensorMapInterleave>(kInterleaves, spec.interleave_bytes, "interleave"));
  const auto promotion =
      TRY(Choose<CUtensorMapL2promotion>(kPromotions, spec.l2_promotion_bytes, "l2_promotion"));
  const auto fill = spec.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                  : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  CUtensorMap encoded{};
  TRY(DRIVER_CALL(DescribeMap(address, spec), cuTensorMapEncodeTiled, &encoded,
                  kTypes[static_cast<size_t>(spec.element)],
                  static_cast<cuuint32_t>(spec.dims.size()), reinterpret_cast<void*>(address),
                  reinterpret_cast<const cuuint64_t*>(spec.dims.data()),
                  reinterpret_cast<const cuuint64_t*>(spec.strides_bytes.data()), spec.box.data(),
                  spec.element_strides.data(), interleave, swizzle, promotion, fill));
  TensorMap map;
  std::copy(std::begin(encoded.opaque), std::end(encoded.opaque), map.words.begin());
  return map;
}

}  // namespace warpsmith::cuda
