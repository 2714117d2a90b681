// A Python process that compiles and runs drivers for the import (torch/warpsmith_driver).
#ifndef WARPSMITH_TASK_KERNELBENCH_DRIVER_PROCESS_H_
#define WARPSMITH_TASK_KERNELBENCH_DRIVER_PROCESS_H_

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith::kernelbench {

struct DescribeLimits {
  std::chrono::seconds wall{360};  // compiling and running together
};

// Runs describe.py with these arguments; its answer as JSON text. Errors are reasons for a person.
Result<std::string> RunDescribe(std::vector<std::string> arguments, const DescribeLimits& limits);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_DRIVER_PROCESS_H_
