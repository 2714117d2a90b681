// A matrix product: its sizes, how its operands lie, and of what they are.
#ifndef WARPSMITH_HGEMM_PROBLEM_H_
#define WARPSMITH_HGEMM_PROBLEM_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace warpsmith::hgemm {

// NN: A is M x K and B is K x N, both row-major. TN: B is stored as N x K, row-major (cuBLAS's name
// for it, whose matrices are column-major).
enum class Layout : uint8_t { kNN, kTN };
constexpr const char* LayoutText(Layout layout) { return layout == Layout::kNN ? "NN" : "TN"; }
inline std::optional<Layout> LayoutFromText(std::string_view text) {
  if (text == "NN") return Layout::kNN;
  return text == "TN" ? std::optional(Layout::kTN) : std::nullopt;
}

struct Problem {
  int64_t m = 0, n = 0, k = 0;
  Layout layout = Layout::kTN;
  DType dtype = DType::kF16;  // or kBF16
  // By sizes, then layout, then type: the order of every table's rows.
  auto operator<=>(const Problem&) const = default;
};

// "64x128x256"
inline std::string SizesText(const Problem& p) {
  return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
}
// "hgemm-512x512x512-TN", "hgemm-512x512x512-TN-bf16"
inline std::string NameOf(const Problem& problem) {
  return "hgemm-" + SizesText(problem) + "-" + LayoutText(problem.layout) +
         (problem.dtype == DType::kBF16 ? "-bf16" : "");
}

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_PROBLEM_H_
