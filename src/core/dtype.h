// Element types, by the names the field uses ("f16", "bf16", "f32", ...).
#ifndef WARPSMITH_CORE_DTYPE_H_
#define WARPSMITH_CORE_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace warpsmith {

enum class DType : uint8_t { kF16, kBF16, kF32, kF64, kI8, kI32, kI64, kBool };

std::string_view Name(DType dtype);  // "f16", "bf16", "i64", "bool"
std::optional<DType> DTypeFromName(std::string_view name);
int64_t ElementBytes(DType dtype);  // of a bool: 1
bool IsInteger(DType dtype);        // bool is no integer

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_DTYPE_H_
