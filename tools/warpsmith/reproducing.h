// evaluate --reproduce: a folder that times a verdict's candidate without warpsmith.
#ifndef WARPSMITH_TOOLS_REPRODUCING_H_
#define WARPSMITH_TOOLS_REPRODUCING_H_

#include <filesystem>
#include <string>

#include "base/result.h"
#include "search/evaluation/judging.h"
#include "search/machine/machine.h"
#include "task/task_file.h"

namespace warpsmith::cli {

// Writes `folder`. kNothingMeasured where the candidate did not pass.
Status WriteReproduction(search::Machine& machine, const task::LoadedTask& loaded,
                         const search::JudgedCandidate& judged,
                         const std::filesystem::path& folder);

// The same, but what cannot be written is said on stderr and is no failure; a full disk is one.
Status TryReproduction(search::Machine& machine, const task::LoadedTask& loaded,
                       const search::JudgedCandidate& judged, const std::filesystem::path& folder);

// "<task>__<workload>__<candidate>__<beginning of its id>": two candidates never share one.
std::string ReproductionName(const std::string& task, const std::string& workload,
                             const search::JudgedCandidate& judged);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_REPRODUCING_H_
