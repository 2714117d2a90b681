#include "comparison_run.h"

#include <set>

#include "base/interrupt.h"

namespace warpsmith::cli {
namespace {

// Then it is hardly the shapes' fault: a library that cannot be made ready fails on each.
constexpr size_t kMostInVain = 5;

}  // namespace

Result<ComparisonProgress> MeasureMissing(const std::vector<hgemm::Problem>& problems,
                                          ComparisonFile& file,
                                          const std::function<bool()>& is_late,
                                          const MeasureShape& measure) {
  ComparisonProgress progress;
  std::vector<hgemm::Problem> missing;
  std::set<hgemm::Problem> asked;
  for (const hgemm::Problem& problem : problems) {
    const bool known = hgemm::Find(file.table(), problem) != nullptr;
    progress.known += known ? 1 : 0;
    if (!known && asked.insert(problem).second) missing.push_back(problem);
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    const bool in_vain = progress.failed >= kMostInVain && file.table().shapes.empty();
    if (Interrupted() || (i > 0 && is_late()) || in_vain) {
      progress.left = missing.size() - i;
      break;
    }
    const bool last = i + 1 == missing.size();
    const auto measured = TRY(measure(missing[i], last ? nullptr : &missing[i + 1]));
    if (!measured) {
      ++progress.failed;
      continue;
    }
    TRY(file.Append(measured->session, measured->result));
    ++progress.measured;
  }
  return progress;
}

}  // namespace warpsmith::cli
