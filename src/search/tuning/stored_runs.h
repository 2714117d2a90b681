// Runs of a store, as what reports are made of.
#ifndef WARPSMITH_SEARCH_TUNING_STORED_RUNS_H_
#define WARPSMITH_SEARCH_TUNING_STORED_RUNS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "core/store.h"
#include "report/run_comparison.h"
#include "report/run_report.h"
#include "store/database_store.h"

namespace warpsmith::search {

// The steps that certified a run's best; `all`: the store's runs.
Result<Trajectory> CertifiedSteps(store::DatabaseStore& store, const RunRecord& run,
                                  const std::vector<RunRecord>& all);

// The run of that name, and every run below it ("name/..."), with what was overruled and what was
// kept of each step. kNoInput: there is none.
Result<report::SideRuns> SideOf(store::DatabaseStore& store, const std::string& name,
                                const std::vector<RunRecord>& all);

// Of the first side; that all are of one device is for the reader to see.
report::Origin OriginOfSides(const std::vector<report::SideRuns>& sides);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_TUNING_STORED_RUNS_H_
