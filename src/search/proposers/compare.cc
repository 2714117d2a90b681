#include "search/proposers/compare.h"

#include <algorithm>
#include <cmath>

#include "search/proposers/strategy.h"

namespace warpsmith::proposers {
namespace {

// Evaluations until each of the rising `thresholds` was reached; every one is reached, at the
// latest when the space is exhausted.
std::vector<int> EvaluationsTo(const std::vector<double>& thresholds, Strategy strategy,
                               const std::vector<double>& scores, int batch) {
  std::vector<int> evaluations;
  int spent = 0;
  while (evaluations.size() < thresholds.size()) {
    const std::vector<int> proposed = Next(strategy, batch);
    CHECK(!proposed.empty());
    for (const int index : proposed) {
      ++spent;
      while (evaluations.size() < thresholds.size() &&
             scores[index] >= thresholds[evaluations.size()]) {
        evaluations.push_back(spent);
      }
      Tell(strategy, index, scores[index] > 0 ? scores[index] : kFailedScore);
    }
  }
  return evaluations;
}

EvaluationsToTarget Summarise(std::string_view strategy, double fraction, std::vector<int> each) {
  std::vector<int> sorted = each;
  std::sort(sorted.begin(), sorted.end());
  return {std::string(strategy),  fraction,       Quantile(sorted, 0.25), Quantile(sorted, 0.5),
          Quantile(sorted, 0.75), std::move(each)};
}

}  // namespace

double Quantile(const std::vector<int>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

Result<std::vector<EvaluationsToTarget>> CompareStrategies(
    const std::shared_ptr<const Terrain>& terrain, const std::vector<double>& scores,
    const CompareOptions& options) {
  CHECK(scores.size() == terrain->space().size());
  const double best = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  if (!(best > 0) || options.seeds < 1) {
    return Error{ErrorCode::kNothingMeasured,
                 "cannot compare proposers on " + terrain->space().name() + ": none of its " +
                     std::to_string(scores.size()) + " points has a measured score",
                 "record the space first"};
  }
  std::vector<double> fractions = options.targets;
  std::sort(fractions.begin(), fractions.end());
  std::vector<double> thresholds;
  for (const double fraction : fractions) thresholds.push_back(fraction * best);

  std::vector<EvaluationsToTarget> answer;
  for (const std::string_view name : StrategyNames()) {
    std::vector<std::vector<int>> each(thresholds.size());
    for (int seed = 0; seed < options.seeds; ++seed) {
      const std::vector<int> evaluations =
          EvaluationsTo(thresholds, TRY(MakeStrategy(name, terrain, static_cast<uint64_t>(seed))),
                        scores, options.batch);
      for (size_t i = 0; i < each.size(); ++i) each[i].push_back(evaluations[i]);
    }
    for (size_t i = 0; i < each.size(); ++i) {
      answer.push_back(Summarise(name, fractions[i], std::move(each[i])));
    }
  }
  return answer;
}

}  // namespace warpsmith::proposers
