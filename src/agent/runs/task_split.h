// `task split`: a model cuts a task into parts, and what it says is proven.
#ifndef WARPSMITH_AGENT_RUNS_TASK_SPLIT_H_
#define WARPSMITH_AGENT_RUNS_TASK_SPLIT_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agent/runs/models_by_role.h"
#include "agent/settings.h"
#include "agent/split/composition.h"
#include "agent/split/parts.h"
#include "base/result.h"
#include "core/task.h"
#include "search/call_time.h"
#include "store/database_store.h"

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
  std::vector<split::Part> parts;
  split::Proof proof;
};

// Asks the model, proves its parts, and writes them into the folder, which must not be there yet.
// kBadInput where no reply was a split of the task. Progress is said on stderr.
Result<ProvenSplit> SplitTask(const TaskSplitOptions& options);

// The kernels of a split task's parts, for the run of the whole.

// Where a part's kernel is exported to, in the part's folder: it goes before those in the store.
inline constexpr const char* kExportedKernel = "best";

// In the order in which the parts run. Of each part the exported kernel, else the best in the store
// of all runs on this part, on any of its sizes, for GPUs of this `architecture`. kBadInput where
// the folder holds no split of `whole`; kNothingMeasured, and what to do, for a part without one.
Result<std::vector<agent::PartKernel>> PartKernels(const std::filesystem::path& folder,
                                                   const Task& whole, store::DatabaseStore& store,
                                                   const std::string& architecture);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_TASK_SPLIT_H_
