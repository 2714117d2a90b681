// The kernel that an agent starts from.
#ifndef WARPSMITH_TOOLS_STARTING_KERNEL_H_
#define WARPSMITH_TOOLS_STARTING_KERNEL_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"

namespace warpsmith::cli {

// `path` as --candidate names it; empty: none, the agent writes the first one. kUsage where it
// holds more than one candidate; refused, too, where the task does not take its form.
Result<std::optional<Candidate>> StartingKernel(const std::string& path, const Task& task);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_STARTING_KERNEL_H_
