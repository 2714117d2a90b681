#include "hgemm/comparison_table.h"

#include <set>
#include <utility>

namespace warpsmith::hgemm {

std::string DifferencesOf(const ComparisonTerms& one, const ComparisonTerms& other) {
  std::string names;
  for (const auto& field : kTermFields) {
    if (one.*field.text == other.*field.text) continue;
    names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
  return names;
}

const ShapeComparison* Find(const ComparisonTable& table, const Problem& problem) {
  for (const ShapeComparison& shape : table.shapes) {
    if (shape.problem == problem) return &shape;
  }
  return nullptr;
}

BarStanding StandingOf(const ComparisonTable& table) {
  BarStanding standing{table.shapes.size(), 0, 0, 0};
  for (const ShapeComparison& shape : table.shapes) {
    if (!shape.bar_check) continue;
    ++standing.checked;
    standing.chosen_again += shape.bar_check->choices > 1 ? 1 : 0;
    standing.violations += shape.bar_check->violations.size();
  }
  return standing;
}

Result<ComparisonTable> Join(std::span<const NamedComparison> parts) {
  CHECK(!parts.empty());
  const auto refused = [&](const NamedComparison& part, const std::string& what) {
    return Error{ErrorCode::kBadInput, part.source + ": " + what,
                 "only parts of one comparison can be joined: the same device, library, pack, "
                 "catalogue and protocol, each shape once"};
  };
  ComparisonTable joined{parts.front().table.terms, {}, {}};
  std::set<Problem> seen;
  for (const NamedComparison& part : parts) {
    const std::string differing = DifferencesOf(part.table.terms, joined.terms);
    if (!differing.empty()) {
      return refused(
          part, "of another comparison than " + parts.front().source + ": another " + differing);
    }
    const size_t before = joined.sessions.size();
    joined.sessions.insert(joined.sessions.end(), part.table.sessions.begin(),
                           part.table.sessions.end());
    for (ShapeComparison shape : part.table.shapes) {
      if (!seen.insert(shape.problem).second) {
        return refused(part, SizesText(shape.problem) + " stands in a file before it, too");
      }
      shape.session += before;
      joined.shapes.push_back(std::move(shape));
    }
  }
  if (!joined.shapes.empty()) return joined;
  return Error{ErrorCode::kNothingMeasured, parts.front().source + ": no shape was compared",
               "the command that began it goes on with the shapes that are missing"};
}

}  // namespace warpsmith::hgemm
