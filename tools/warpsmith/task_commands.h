// `warpsmith task init` and `warpsmith task check`.
#ifndef WARPSMITH_TOOLS_TASK_COMMANDS_H_
#define WARPSMITH_TOOLS_TASK_COMMANDS_H_

#include <string>

#include "options.h"
#include "util/result.h"

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
  bool text_only = false;  // nothing is run, even where there is a GPU
};
// 1 where the task is refused.
Result<int> RunTaskCheck(const TaskCheckOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_TASK_COMMANDS_H_
