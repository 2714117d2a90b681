// The kernels of a split task's parts, for the run of the whole.
#ifndef WARPSMITH_AGENT_RUNS_PART_KERNELS_H_
#define WARPSMITH_AGENT_RUNS_PART_KERNELS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "agent/settings.h"
#include "agent/split/parts.h"
#include "base/result.h"
#include "core/task.h"
#include "store/database_store.h"

namespace warpsmith::agent {

// Where a part's kernel is exported to, in the part's folder: it goes before those in the store.
inline constexpr const char* kExportedKernel = "best";

// In the order in which the parts run. Of each part the exported kernel, else the best in the store
// of all runs on this part, on any of its sizes, for GPUs of this `architecture`. kBadInput where
// the folder holds no split of `whole`; kNothingMeasured, and what to do, for a part without one.
Result<std::vector<agent::PartKernel>> PartKernels(const std::filesystem::path& folder,
                                                   const Task& whole, store::DatabaseStore& store,
                                                   const std::string& architecture);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_PART_KERNELS_H_
