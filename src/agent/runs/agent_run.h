// One run of the agent, live or replayed: from its first question to the certification of its best.
#ifndef WARPSMITH_AGENT_RUNS_AGENT_RUN_H_
#define WARPSMITH_AGENT_RUNS_AGENT_RUN_H_

#include <optional>
#include <string>

#include "agent/runs/models_by_role.h"
#include "agent/runs/run_recording.h"
#include "agent/settings.h"
#include "base/result.h"
#include "core/task.h"
#include "report/terminal.h"
#include "search/tuning/search.h"
#include "task/task_file.h"

namespace warpsmith::agent {

// From the command line to what a run of the agent begins with.

// kUsage where --ask names a question that there is none of.
Status CheckAsked(const AgentOptions& options);

// kUsage where --candidate holds more than one kernel, or the task takes none of its form.
// `by_hand`: somebody who answers prompts by hand is among the models.
Result<agent::RunConfig> RunConfigOf(const RunOptions& options, const Task& task, bool by_hand);

// Everything that a run is put together from.
struct AgentSetting {
  task::LoadedTask loaded;
  AgentModels models;  // of a replay: none
  std::optional<RecordedRun> replayed;
  agent::RunConfig run_config;
  Budget budget;
  std::string command;  // for a person to run again
};

// A replay takes all from its recording; kBadInput where that lacks the run's beginning.
Result<AgentSetting> ToReplay(RecordedRun run);

struct AgentEnd {
  search::SearchEnd search;
  std::string limit;    // of the budget, where that ended it
  std::string outcome;  // what was spent, and the best kernel's way, in a line
};

// `run` names it in the store. `line` is null where no progress is wanted. Of `options` only what
// is no part of the setting is looked at: pace, finalists, knowledge, documents, and --record,
// whose file is written when the run is over. After an error all that was paid for is in the store;
// stderr says how to go on.
Result<AgentEnd> CarryOut(const RunOptions& options, search::Machine& machine, AgentSetting setting,
                          const std::string& run, report::ProgressLine* line);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_AGENT_RUN_H_
