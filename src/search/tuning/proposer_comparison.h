// The proposers against each other, on recorded spaces.
#ifndef WARPSMITH_SEARCH_TUNING_PROPOSER_COMPARISON_H_
#define WARPSMITH_SEARCH_TUNING_PROPOSER_COMPARISON_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/run_report.h"
#include "search/machine/machine.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

// --- How many evaluations each search strategy needs, on a space whose every score is known.

struct CompareOptions {
  int seeds = 100;
  int batch = 8;  // proposals between two rounds of answers, as in the loop
  std::vector<double> targets = {0.95, 0.99};  // fractions of the best score
};

// `scores` by index of the terrain's space, kFailedScore (or anything not positive) for failures.
// Every strategy of StrategyNames() runs with the same seeds; a row (evaluations until a score of at
// least `fraction` of the best was seen) a strategy and target, targets rising. kNothingMeasured when no score is positive.
Result<std::vector<report::ProposerRow>> CompareStrategies(
    const std::shared_ptr<const Terrain>& terrain, const std::vector<double>& scores,
    const CompareOptions& options = {});

// Linear interpolation between order statistics; `sorted` ascending and not empty.
double Quantile(const std::vector<int>& sorted, double fraction);

}  // namespace warpsmith::proposers

namespace warpsmith::search {

// Every recorded HGEMM space x proposer x 100 seeds: evaluations to 95 % and 99 % of the best. On
// the machine's recordings, or the shipped ones when it measures here; empty where there are none.
// `cost_model`: a model file, empty for the one that is built in, which these recordings are part
// of what was fitted to.
Result<std::vector<report::ProposerRow>> CompareProposers(Machine& machine,
                                                          const std::string& cost_model);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_TUNING_PROPOSER_COMPARISON_H_
