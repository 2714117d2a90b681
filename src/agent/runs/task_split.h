// `task split`: a model cuts a task into parts, and what it says is proven.
#ifndef WARPSMITH_AGENT_RUNS_TASK_SPLIT_H_
#define WARPSMITH_AGENT_RUNS_TASK_SPLIT_H_

#include <map>
#include <string>

#include "agent/runs/options.h"
#include "agent/split/composition.h"
#include "agent/split/parts.h"
#include "base/result.h"
#include "search/call_time.h"

namespace warpsmith::agent {

struct TaskSplitOptions {
  search::CommonOptions common;
  AgentOptions model;  // who is asked, and how
  std::string task;
  std::string into;  // the folder to write
  int tries = 3;     // replies that may be no split
  int limit_seconds = 600;
};

struct ProvenSplit {
  std::map<std::string, std::string> files;
  split::Split split;
  split::Proof proof;
};

// Asks the model, proves its parts, and writes them into the folder, which must not be there yet.
// kBadInput where no reply was a split of the task. Progress is said on stderr.
Result<ProvenSplit> SplitTask(const TaskSplitOptions& options);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_TASK_SPLIT_H_
