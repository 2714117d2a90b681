// KernelBench modules as torch baselines of KernelBench-CUDA drivers: the same problem number, and
// every tensor with the same extents. Two problems of different sizes are different problems.
#ifndef WARPSMITH_KERNELBENCH_PAIRING_H_
#define WARPSMITH_KERNELBENCH_PAIRING_H_

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kernelbench/checkout.h"
#include "kernelbench/driver_description.h"
#include "kernelbench/inspection.h"
#include "util/result.h"

namespace warpsmith::kernelbench {

struct ModulePairs {
  struct Module {
    Problem problem;
    Result<ModuleInspection> inspection;
  };
  std::map<std::pair<int, int>, Module> modules;  // by level and number
};

// The modules of a checkout that have one of the problems' numbers.
Result<ModulePairs> LoadModules(const std::filesystem::path& checkout,
                                const std::vector<Problem>& problems, int jobs);

// Which of the driver's tensors are the module's inputs, and which its state.
struct Binding {
  std::vector<size_t> inputs;                              // in forward()'s order
  std::vector<std::pair<std::string, size_t>> parameters;  // state_dict()'s name -> tensor
};

// An Error says what differs. Extents of 1 do not count; integer state that no kernel reads
// (num_batches_tracked) need not be given.
Result<Binding> Bind(const ModuleInspection& module, const DriverDescription& driver);

// Adds the paired module to the task and its file to the folder; returns what there is to say:
// empty, or why there is no torch baseline (which the task's origin then says too).
Result<std::string> AddPair(const ModulePairs& pairs, const Problem& problem,
                            const DriverDescription& description,
                            const std::filesystem::path& folder, nlohmann::json& task);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_KERNELBENCH_PAIRING_H_
