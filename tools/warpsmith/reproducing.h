// evaluate --reproduce: a folder that times a verdict's candidate without warpsmith.
#ifndef WARPSMITH_TOOLS_REPRODUCING_H_
#define WARPSMITH_TOOLS_REPRODUCING_H_

#include <filesystem>
#include <string>

#include "base/result.h"
#include "judging.h"
#include "machine.h"
#include "task/task_file.h"

namespace warpsmith::cli {

// Writes `folder`. kNothingMeasured where the candidate did not pass.
Status WriteReproduction(Machine& machine, const task::LoadedTask& loaded,
                         const JudgedCandidate& judged, const std::filesystem::path& folder);

// The same, but what cannot be written is said on stderr and is no failure; a full disk is one.
Status TryReproduction(Machine& machine, const task::LoadedTask& loaded,
                       const JudgedCandidate& judged, const std::filesystem::path& folder);

// "<task>__<workload>__<candidate>__<beginning of its id>": two candidates never share one.
std::string ReproductionName(const std::string& task, const std::string& workload,
                             const JudgedCandidate& judged);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_REPRODUCING_H_
