#include "comparison_run.h"

#include <algorithm>

#include "util/interrupt.h"

namespace warpsmith::cli {
namespace {

bool Contains(const std::vector<hgemm::Problem>& problems, const hgemm::Problem& wanted) {
  return std::any_of(problems.begin(), problems.end(), [&](const hgemm::Problem& problem) {
    return problem.m == wanted.m && problem.n == wanted.n && problem.k == wanted.k;
  });
}

}  // namespace

Result<ComparisonProgress> MeasureMissing(const std::vector<hgemm::Problem>& problems,
                                          ComparisonFile& file,
                                          const std::function<bool()>& is_late,
                                          const MeasureShape& measure) {
  ComparisonProgress progress;
  std::vector<hgemm::Problem> missing;
  for (const hgemm::Problem& problem : problems) {
    const bool known = hgemm::Find(file.table(), problem) != nullptr;
    progress.known += known ? 1 : 0;
    if (!known && !Contains(missing, problem)) missing.push_back(problem);
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    if (Interrupted() || (i > 0 && is_late())) {
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
