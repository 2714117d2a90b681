#include "hgemm/configurations.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

std::vector<CatalogueRow> OneOfEachConfiguration(const Catalogue& catalogue) {
  std::vector<const CatalogueRow*> ours;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.choice == Choice::kKernel) ours.push_back(&row);
  }
  const auto size = [](const CatalogueRow* row) {
    return row->problem.m * row->problem.n * row->problem.k;
  };
  std::stable_sort(ours.begin(), ours.end(),
                   [&](const auto* a, const auto* b) { return size(a) < size(b); });
  std::set<std::tuple<std::string, Layout, DType>> seen;
  std::vector<CatalogueRow> one_each;
  for (const CatalogueRow* row : ours) {
    const bool is_new = seen.insert({PointName(WithAllParameters(row->kernel)), row->problem.layout,
                                     row->problem.dtype})
                            .second;
    if (is_new) one_each.push_back(*row);
  }
  return one_each;
}

}  // namespace warpsmith::hgemm
