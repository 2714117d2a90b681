// A list of points of one space through compiler and device, in order, with both kept busy.
#ifndef WARPSMITH_TOOLS_MEASURING_H_
#define WARPSMITH_TOOLS_MEASURING_H_

#include <functional>
#include <vector>

#include "machine.h"
#include "search.h"

namespace warpsmith::cli {

// False stops: what the device already has is still delivered.
using OnMeasured = std::function<Result<bool>(const Job& job, const Completed& completed)>;

// True when all were delivered.
Result<bool> MeasurePoints(Machine& machine, const SearchJob& job, const Protocol& protocol,
                           const std::vector<Point>& points, const OnMeasured& on_measured);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_MEASURING_H_
