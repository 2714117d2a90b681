// KernelBench modules as torch baselines of KernelBench-CUDA drivers: the same problem number, and
// every tensor with the same extents, and the same outputs. Two problems of different sizes are
// different problems.
#ifndef WARPSMITH_TASK_KERNELBENCH_PAIRING_H_
#define WARPSMITH_TASK_KERNELBENCH_PAIRING_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "task/kernelbench/binding.h"
#include "task/kernelbench/checkout.h"
#include "task/kernelbench/driver_description.h"
#include "task/kernelbench/driver_process.h"
#include "task/kernelbench/inspection.h"

namespace warpsmith::kernelbench {

struct ModulePairs {
  struct Module {
    BenchmarkProblem problem;
    Result<ModuleInspection> inspection;
  };
  std::map<std::pair<int, int>, Module> modules;  // by level and number
};

// The modules of a checkout that have one of the problems' numbers.
Result<ModulePairs> LoadModules(const std::filesystem::path& checkout,
                                const std::vector<BenchmarkProblem>& problems, int jobs);

// The index of the one of `options` (reference.options of `task`) with which the module gives the
// driver's outputs; an Error says why there is none.
using ChooseBinding =
    std::function<Result<size_t>(const nlohmann::json& task, const nlohmann::json& options)>;

// Runs the driver of `folder`, and the module beside it with each of the bindings.
Result<size_t> TryBindings(const std::filesystem::path& folder, const nlohmann::json& task,
                           const nlohmann::json& options, const DescribeLimits& limits);

// Adds the paired module to the task and its file to the folder; returns what there is to say:
// empty, or why there is no torch baseline (which the task's origin then says too). `choose` is
// called when the file is there.
Result<std::string> AddPair(const ModulePairs& pairs, const BenchmarkProblem& problem,
                            const DriverDescription& description,
                            const std::filesystem::path& folder, const ChooseBinding& choose,
                            nlohmann::json& task);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_PAIRING_H_
