#include <map>
#include <tuple>

#include "hgemm/catalogue.h"

namespace warpsmith::hgemm {
namespace {

// Screening's ratios are flattered, each being the best of many; of a catalogue that was guarded
// and the one that it was made from, the guarded one must stay.
int RankOf(std::string_view level) {
  if (level == kComparedLevel) return 2;
  return level == kCertifiedLevel ? 1 : 0;
}

}  // namespace

bool IsSurer(const CatalogueRow& one, const CatalogueRow& other) {
  const auto rank = [](const CatalogueRow& row) {
    const double low = row.results.empty() ? 0 : row.results.front().interval.lo;
    const bool against = IsAgainstTheRule(row);
    return std::tuple(RankOf(row.level), against && row.level != kComparedLevel, low, row.date,
                      against, RowText(row));
  };
  return rank(one) > rank(other);
}

Catalogue Merge(std::span<const Catalogue> parts) {
  std::map<CatalogueKey, const CatalogueRow*> best;
  for (const Catalogue& part : parts) {
    for (const CatalogueRow& row : part.rows) {
      const auto [place, fresh] = best.emplace(KeyOf(row), &row);
      if (!fresh && IsSurer(row, *place->second)) place->second = &row;
    }
  }
  Catalogue merged;
  for (const auto& [key, row] : best) merged.rows.push_back(*row);
  return merged;
}

}  // namespace warpsmith::hgemm
