// `warpsmith task init`, `warpsmith task check` and `warpsmith task split`.
#ifndef WARPSMITH_TOOLS_TASK_COMMANDS_H_
#define WARPSMITH_TOOLS_TASK_COMMANDS_H_

#include <string>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

struct TaskInitOptions {
  CommonOptions common;
  std::string source;
  std::string output;    // the folder to write; empty: named after the source
  std::string function;  // what candidates are called as; empty: the best guess
};
Result<int> RunTaskInit(const TaskInitOptions& options);

struct TaskCheckOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string task;
  bool text_only = false;   // nothing is run, even where there is a GPU
  int limit_seconds = 600;  // of a split: for comparing its parts with the whole
};
// 1 where the task is refused.
Result<int> RunTaskCheck(const TaskCheckOptions& options);

struct TaskSplitOptions {
  CommonOptions common;
  AgentOptions model;  // who is asked, and how
  std::string task;
  std::string into;  // the folder to write
  int tries = 3;     // replies that may be no split
  int limit_seconds = 600;
};
Result<int> RunTaskSplit(const TaskSplitOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_TASK_COMMANDS_H_
