// The proposers against each other, on recorded spaces.
#ifndef WARPSMITH_SEARCH_TUNING_PROPOSER_COMPARISON_H_
#define WARPSMITH_SEARCH_TUNING_PROPOSER_COMPARISON_H_

#include <string>
#include <vector>

#include "report/run_report.h"
#include "search/machine/machine.h"

namespace warpsmith::search {

// Every recorded HGEMM space x proposer x 100 seeds: evaluations to 95 % and 99 % of the best. On
// the machine's recordings, or the shipped ones when it measures here; empty where there are none.
// `cost_model`: a model file, empty for the one that is built in, which these recordings are part
// of what was fitted to.
Result<std::vector<report::ProposerRow>> CompareProposers(Machine& machine,
                                                          const std::string& cost_model);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_TUNING_PROPOSER_COMPARISON_H_
