// [program]: the declaration and the arguments of a function that candidates define.
#ifndef WARPSMITH_TASK_PROGRAM_CALL_H_
#define WARPSMITH_TASK_PROGRAM_CALL_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::task {

struct ProgramCall {
  std::string function;
  size_t parameters = 0;
  std::vector<std::string> names;  // that the arguments use, each once: tensors, sizes, and others
};

// kBadInput when the declaration is no function's, or takes another number of arguments than given.
Result<ProgramCall> ParseProgramCall(const ProgramEntry& entry);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_PROGRAM_CALL_H_
