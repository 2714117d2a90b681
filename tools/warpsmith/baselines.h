// The libraries, measured by the judge's own protocol: beside one of our kernels, in the same
// rounds.
#ifndef WARPSMITH_TOOLS_BASELINES_H_
#define WARPSMITH_TOOLS_BASELINES_H_

#include <string>
#include <vector>

#include "core/protocol.h"
#include "core/verdict.h"
#include "search.h"
#include "store/recording_format.h"

namespace warpsmith::cli {

// Five rounds in every mode.
Protocol LibrariesProtocol();

struct BesideLibraries {
  Timing timing;
  std::string library;  // cuBLASLt's version
};

// Our kernel `point` and every baseline (each library, NN, TN and the better of both), in the same
// rounds. `protocol`: of level certified; a screened job meets the bar alone. kInterrupted when it
// was stopped before.
Result<BesideLibraries> MeasureBesideLibraries(Machine& machine, const SearchJob& job,
                                               const Point& point, const Protocol& protocol);

// The libraries' times, one row a mode.
std::vector<store::BaselineRow> LibraryRows(const std::string& space, const ModeTiming& mode);
std::vector<store::BaselineRow> LibraryRows(const std::string& space, const Timing& timing);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_BASELINES_H_
