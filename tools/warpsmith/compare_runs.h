// `warpsmith report --compare`: runs side by side.
#ifndef WARPSMITH_TOOLS_COMPARE_RUNS_H_
#define WARPSMITH_TOOLS_COMPARE_RUNS_H_

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

// Each of options.runs is a side: the run of that name, and every run below it ("name/...").
Result<int> CompareStoredRuns(const ReportOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPARE_RUNS_H_
