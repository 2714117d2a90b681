// An imported problem as the fields of its task.toml.
#ifndef WARPSMITH_TASK_KERNELBENCH_TASK_DOCUMENT_H_
#define WARPSMITH_TASK_KERNELBENCH_TASK_DOCUMENT_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/frame.h"
#include "base/result.h"
#include "task/kernelbench/driver_description.h"
#include "task/kernelbench/inspection.h"
#include "task/kernelbench/launch_declaration.h"

namespace warpsmith::kernelbench {

struct TaskNames {
  std::string task;    // "kernelbench-1a2b3c4d/level1/19_ReLU"
  std::string origin;  // "KernelBench level1 #19, size set 1a2b3c4d"
};

// More tensors than this the judge does not take.
inline constexpr size_t kMostTensors = kMaxFrameDescriptors / 2;

// A problem whose reference is the module in `source` (a file beside the task.toml). A candidate is
// called with outputs, forward()'s inputs, then state_dict()'s entries.
Result<nlohmann::json> ModuleTask(const TaskNames& names, const ModuleInspection& inspection,
                                  const std::string& source);

// A problem whose reference is driver.cpp with launch.inc (files beside the task.toml).
Result<nlohmann::json> DriverTask(const TaskNames& names, const DriverDescription& description,
                                  const LaunchDeclaration& declaration);

// A name that C++ takes, made from any.
std::string Identifier(const std::string& name);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_TASK_DOCUMENT_H_
