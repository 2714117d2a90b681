// From the command line to what a run of the agent begins with.
#ifndef WARPSMITH_AGENT_RUNS_RUN_CONFIG_H_
#define WARPSMITH_AGENT_RUNS_RUN_CONFIG_H_

#include "agent/runs/options.h"
#include "agent/settings.h"
#include "base/result.h"
#include "core/task.h"

namespace warpsmith::agent {

// kUsage where --ask names a question that there is none of.
Status CheckAsked(const AgentOptions& options);

// kUsage where --candidate holds more than one kernel, or the task takes none of its form.
// `by_hand`: somebody who answers prompts by hand is among the models.
Result<agent::RunConfig> RunConfigOf(const RunOptions& options, const Task& task, bool by_hand);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_RUN_CONFIG_H_
