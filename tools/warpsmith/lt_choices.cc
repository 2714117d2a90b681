#include "lt_choices.h"

#include <optional>

#include "cuda/cublaslt.h"
#include "cuda/plan/half_type.h"
#include "judge/baseline/choice_cache.h"

namespace warpsmith::cli {
namespace {

cuda::GemmLayout LayoutOf(const hgemm::CatalogueRow& row) {
  return row.problem.layout == hgemm::Layout::kNN ? cuda::GemmLayout::kNN : cuda::GemmLayout::kTN;
}

}  // namespace

const baseline::GemmBaselineChoice* LtChoices::Find(const hgemm::CatalogueRow& row,
                                                    bool of_its_layout) {
  const auto [site, is_new] = of_site_.try_emplace({row.device, row.driver, row.library});
  if (is_new) {
    auto all = baseline::ChoiceCache::Default({row.device, row.driver, row.library}).All();
    if (all.ok()) site->second = *std::move(all);
  }
  const hgemm::Problem& p = row.problem;
  const auto layout = of_its_layout ? std::optional(LayoutOf(row)) : std::nullopt;
  const baseline::ChoiceKey key{{baseline::GemmLibrary::kLtAuto, layout},
                                {p.m, p.n, p.k, plan::HalfTypeOf(p.dtype)}};
  const auto found = site->second.find(Text(key));
  return found == site->second.end() ? nullptr : &found->second;
}

std::string LtChoices::AlgorithmOf(const hgemm::CatalogueRow& row) {
  for (const bool of_its_layout : {true, false}) {
    const baseline::GemmBaselineChoice* choice = Find(row, of_its_layout);
    if (choice == nullptr || choice->shape.layout != LayoutOf(row)) continue;
    if (choice->algorithm) return cuda::ToHex(*choice->algorithm);
  }
  return "";
}

bool LtChoices::BarIsOwn(const hgemm::CatalogueRow& row) {
  const baseline::GemmBaselineChoice* choice = Find(row, false);
  return choice != nullptr && choice->algorithm && choice->shape.layout == LayoutOf(row);
}

}  // namespace warpsmith::cli
