#include "core/dtype.h"

#include <array>
#include <cstdlib>

namespace warpsmith {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<Row, 8> kTable = {{{DType::kF16, "f16", 2},
                                        {DType::kBF16, "bf16", 2},
                                        {DType::kF32, "f32", 4},
                                        {DType::kF64, "f64", 8},
                                        {DType::kI8, "i8", 1},
                                        {DType::kI32, "i32", 4},
                                        {DType::kI64, "i64", 8},
                                        {DType::kBool, "bool", 1}}};

const Row& RowOf(DType dtype) {
  for (const Row& row : kTable) {
    if (row.dtype == dtype) return row;
  }
  std::abort();
}

}  // namespace

std::string_view Name(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Row& row : kTable) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int64_t ElementBytes(DType dtype) { return RowOf(dtype).bytes; }

bool IsInteger(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI32 || dtype == DType::kI64;
}

}  // namespace warpsmith
