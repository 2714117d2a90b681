// One run of the agent, live or replayed: from its first question to the certification of its best.
#ifndef WARPSMITH_TOOLS_AGENT_LOOP_H_
#define WARPSMITH_TOOLS_AGENT_LOOP_H_

#include <optional>
#include <string>

#include "agent/settings.h"
#include "agent_models.h"
#include "agent_recording.h"
#include "options.h"
#include "report/progress_line.h"
#include "search.h"
#include "task/task_file.h"

namespace warpsmith::cli {

// Everything that a run is put together from.
struct AgentSetting {
  task::LoadedTask loaded;
  AgentModels models;  // of a replay: none
  std::optional<RecordedRun> replayed;
  agent::Beginning beginning;
  Budget budget;
  std::string command;  // for a person to run again
};

// A replay takes all from its recording; kBadInput where that lacks the run's beginning.
Result<AgentSetting> ToReplay(RecordedRun run);

struct AgentEnd {
  SearchEnd search;
  std::string limit;    // of the budget, where that ended it
  std::string outcome;  // what was spent, and the best kernel's way, in a line
};

// `run` names it in the store. `line` is null where no progress is wanted. Of `options` only what
// is no part of the setting is looked at: pace, finalists, knowledge, documents, and --record,
// whose file is written when the run is over. After an error all that was paid for is in the store;
// stderr says how to go on.
Result<AgentEnd> CarryOut(const OptimizeOptions& options, Machine& machine, AgentSetting setting,
                          const std::string& run, report::ProgressLine* line);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGENT_LOOP_H_
