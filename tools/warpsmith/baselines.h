// The libraries, measured by the judge's own protocol: beside one of our kernels, in the same
// rounds.
#ifndef WARPSMITH_TOOLS_BASELINES_H_
#define WARPSMITH_TOOLS_BASELINES_H_

#include <vector>

#include "measuring.h"
#include "search.h"
#include "store/recording_format.h"

namespace warpsmith::cli {

// Every baseline (each library, NN, TN and the better of both) in every mode, one row each.
// `point` is the kernel they are measured beside.
Result<std::vector<store::BaselineRow>> MeasureBaselines(Machine& machine, const SearchJob& job,
                                                         const Point& point);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_BASELINES_H_
