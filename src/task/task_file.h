// Tasks as users write them: task.toml. docs/tasks.md.
#ifndef WARPSMITH_TASK_TASK_FILE_H_
#define WARPSMITH_TASK_TASK_FILE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "task/candidate_file.h"

namespace warpsmith::task {

struct LoadedTask {
  Task task;
  Workload workload;  // the one that is judged
};

// A path to a task.toml ("dir/task.toml" or "dir"), or a built-in one: "hgemm:MxNxK",
// with ":NN" or ":TN" (the default) and ":bf16" behind it.
// `workload` picks one of several by name; empty takes the first that is not hidden. The texts of
// the reference and of the rivals are read in: the task stands alone then.
Result<LoadedTask> LoadTask(const std::string& reference, const std::string& workload = "");

// Every workload of the task, hidden ones too; the chosen one alone where the task names none.
std::vector<Workload> AllWorkloads(const LoadedTask& loaded);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_TASK_FILE_H_
