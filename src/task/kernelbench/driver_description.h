// What a driver gives to launch_gpu_implementation, as a run of it told
// (torch/warpsmith_driver/describe.py).
#ifndef WARPSMITH_TASK_KERNELBENCH_DRIVER_DESCRIPTION_H_
#define WARPSMITH_TASK_KERNELBENCH_DRIVER_DESCRIPTION_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/kernelbench/driver_process.h"
#include "task/kernelbench/inspection.h"

namespace warpsmith::kernelbench {

struct DriverTensor {
  TensorRow row;
  bool is_output = false;
};

struct DriverArgument {
  std::vector<size_t> tensors;  // indices; one, unless it is an array of pointers
  bool is_array = false;
  std::string expression;  // C++, where there are no tensors
};

struct DriverDescription {
  std::vector<DriverTensor> tensors;      // each once, in the order in which arguments name them
  std::vector<DriverArgument> arguments;  // one a parameter
  double absolute = 0, relative = 0;      // the loosest of the driver's comparisons
};

Result<DriverDescription> ReadDescription(std::string_view json);

// Torch's headers, compiled once for many drivers, into `folder` (about 700 MB).
Status PrecompileHeaders(const std::filesystem::path& folder, const DescribeLimits& limits);

// Compiles and runs driver.cpp of `folder` with its launch.inc. `precompiled` may be empty. Errors
// are reasons for a person: it does not compile, crashes, never ends, compares nothing.
Result<DriverDescription> Describe(const std::filesystem::path& folder,
                                   const std::filesystem::path& precompiled,
                                   const DescribeLimits& limits);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_DRIVER_DESCRIPTION_H_
