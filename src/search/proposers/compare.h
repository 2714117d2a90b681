// How many evaluations each search strategy needs, on a space whose every score is known.
#ifndef WARPSMITH_SEARCH_PROPOSERS_COMPARE_H_
#define WARPSMITH_SEARCH_PROPOSERS_COMPARE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

struct CompareOptions {
  int seeds = 100;
  int batch = 8;  // proposals between two rounds of answers, as in the loop
  std::vector<double> targets = {0.95, 0.99};  // fractions of the best score
};

// Evaluations until a score of at least `fraction` of the best was seen.
struct EvaluationsToTarget {
  std::string strategy;
  double fraction = 0;
  double lower_quartile = 0, median = 0, upper_quartile = 0;
  std::vector<int> each;  // one entry a seed
};

// `scores` by index of the terrain's space, kFailedScore (or anything not positive) for failures.
// Every strategy of StrategyNames() runs with the same seeds; a row a strategy and target, targets
// rising. kNothingMeasured when no score is positive.
Result<std::vector<EvaluationsToTarget>> CompareStrategies(
    const std::shared_ptr<const Terrain>& terrain, const std::vector<double>& scores,
    const CompareOptions& options = {});

// Linear interpolation between order statistics; `sorted` ascending and not empty.
double Quantile(const std::vector<int>& sorted, double fraction);

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_COMPARE_H_
