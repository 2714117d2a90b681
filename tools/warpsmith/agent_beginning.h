// From the command line to what a run of the agent begins with.
#ifndef WARPSMITH_TOOLS_AGENT_BEGINNING_H_
#define WARPSMITH_TOOLS_AGENT_BEGINNING_H_

#include "agent/settings.h"
#include "base/result.h"
#include "core/task.h"
#include "options.h"

namespace warpsmith::cli {

// kUsage where --ask names a question that there is none of.
Status CheckAsked(const AgentOptions& options);

// kUsage where --candidate holds more than one kernel, or the task takes none of its form.
// `by_hand`: somebody who answers prompts by hand is among the models.
Result<agent::Beginning> BeginningOf(const OptimizeOptions& options, const Task& task,
                                     bool by_hand);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGENT_BEGINNING_H_
