// A user's checkout of a foreign task set: which one it is, and its problems.
#ifndef WARPSMITH_TASK_KERNELBENCH_CHECKOUT_H_
#define WARPSMITH_TASK_KERNELBENCH_CHECKOUT_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::kernelbench {

enum class Kind : uint8_t {
  kModules,  // KernelBench: level1/19_ReLU.py with class Model, get_inputs(), get_init_inputs()
  kDrivers,  // KernelBench-CUDA: level1/019_ReLU/{driver.cpp,init.cu}
};

struct BenchmarkProblem {
  int level = 0, number = 0;
  std::string name;            // "19_ReLU": the file's or folder's, without ".py" and a last "_"
  std::filesystem::path path;  // the .py file or the folder
};
std::string Id(const BenchmarkProblem& problem);  // "level1/19_ReLU"

struct Checkout {
  Kind kind = Kind::kModules;
  std::filesystem::path root;              // the folder that holds level1, level2, ...
  std::vector<BenchmarkProblem> problems;  // by level and number
};

// `path`: the checkout, or a folder of it. What it is shows in what it holds, not in its name.
// kNoInput or kBadInput say what was looked for.
Result<Checkout> OpenCheckout(const std::filesystem::path& path);

// "level1", "level1/19" and "level1/19_ReLU" all pick 19_ReLU (and 019_ReLU).
bool IsPickedBy(const BenchmarkProblem& problem, std::string_view pattern);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_CHECKOUT_H_
