#include "hgemm/problem.h"

namespace warpsmith::hgemm {

std::optional<Layout> LayoutFromText(std::string_view text) {
  for (const Layout layout : {Layout::kNN, Layout::kTN}) {
    if (text == LayoutText(layout)) return layout;
  }
  return std::nullopt;
}

std::string SizesText(const Problem& problem) {
  return std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" +
         std::to_string(problem.k);
}

std::string NameOf(const Problem& problem) {
  return "hgemm-" + SizesText(problem) + "-" + LayoutText(problem.layout) +
         (problem.dtype == DType::kBF16 ? "-bf16" : "");
}

}  // namespace warpsmith::hgemm
