// What KernelBench's problems are made of, as a Python process with torch finds out: tensors with
// types and extents, without computing anything (inspect_problems.py).
#ifndef WARPSMITH_TASK_KERNELBENCH_INSPECTION_H_
#define WARPSMITH_TASK_KERNELBENCH_INSPECTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/dtype.h"
#include "task/kernelbench/checkout.h"

namespace warpsmith::kernelbench {

struct TensorRow {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // none: a single value
};

// An argument of forward(): a tensor, or a number written as C++ spells it.
struct InputRow {
  TensorRow tensor;
  std::string type, literal;  // "double", "3.14"; empty for tensors
  bool IsTensor() const { return literal.empty(); }
};

struct ModuleInspection {
  std::vector<InputRow> inputs;
  std::vector<TensorRow> parameters, outputs;  // parameters: state_dict()'s entries in its order
  int64_t bytes = 0;                           // of all tensors
};

// One problem: what it is made of, or why it could not be loaded.
using ModuleInspections = std::map<std::string, Result<ModuleInspection>>;  // by Id()

struct InspectionLimits {
  int jobs = 1;
  int seconds = 60;                   // of one problem
  int64_t bytes = int64_t{16} << 30;  // of address space that one problem adds
};

// Floating inputs, parameters and buffers are cast to `dtype` first, if one is given.
// kUnavailable where there is no Python with torch.
Result<ModuleInspections> Inspect(const std::vector<BenchmarkProblem>& problems,
                                  const InspectionLimits& limits, std::optional<DType> dtype);

// One line of the script's answer, {"path", "ok", ...}. Exposed for tests.
Result<ModuleInspection> ReadInspection(std::string_view line);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_INSPECTION_H_
