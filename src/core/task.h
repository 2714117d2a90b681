// A task: what must be computed, on which sizes, how exactly, and against whom.
#ifndef WARPSMITH_CORE_TASK_H_
#define WARPSMITH_CORE_TASK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/dtype.h"
#include "core/expression.h"
#include "core/form.h"
#include "core/launch_plan.h"

namespace warpsmith {

enum class Role : uint8_t { kInput, kOutput };

// How the judge fills an input. All are drawn from secret per-run seeds.
enum class Generator : uint8_t {
  kNormal,     // N(0, 1)
  kUniform,    // U(-1, 1)
  kUnit,       // U(0, 1)
  kIntegers,   // whole numbers from `low` to `high` - 1
  kOffsets,    // ascending whole numbers, the first 0 and the last `high`: CSR row offsets
  kReference,  // drawn by the reference itself (imported problems)
};

// Dense, row-major in the order of `shape`: the last extent is contiguous.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF16;
  Role role = Role::kInput;
  std::vector<Expression> shape;  // elements, over the workload's sizes
  Generator generator = Generator::kNormal;
  Expression low = Expression::Constant(0), high = Expression::Constant(0);  // generator's
};

// What computes the expected output.
//   "gemm"    built in: out = A * B (options: layout = NN|TN) in FP64 with its magnitude sum |a||b|
//   "cuda"    device code of the task, launched from `plan` over the task's tensors (options:
//   entry) "torch"   a Python file (options: entry; style = function|module) "driver"  a C++
//   program around launch_gpu_implementation (options: entry), taken apart as
//             docs/tasks.md says
// Each but the first runs in a process of its own.
struct ReferenceSpec {
  std::string kind;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> sources = {};  // path -> text
  std::optional<LaunchPlan> plan = {};
};

// Either derived from the output's type and the reduction length (docs/judge-protocol.md), or
// given, with a reason that the report prints. Integers must be equal.
struct Tolerance {
  std::optional<Expression> reduction_length;  // derived bound
  DType accumulate = DType::kF32;
  double absolute = 0, relative = 0;  // given bound, when reduction_length is empty
  std::string reason;
};

struct Workload {
  std::string name;
  Sizes sizes;
  double weight = 1;
  bool hidden = false;  // never shown to a proposer
};

// How a candidate of form `program` is called.
struct ProgramEntry {
  // "void launch_gpu_implementation(void* output, void* input, int64_t n)".
  std::string declaration;
  std::vector<std::string> arguments;  // each a tensor's name, or a C++ expression over the sizes
};

// A candidate to be compared with, such as the kernel that the user runs today.
struct Rival {
  std::string name;
  Candidate candidate;
};

struct Task {
  std::string name;
  std::vector<TensorSpec> tensors;
  ReferenceSpec reference;
  Tolerance tolerance;
  std::vector<Workload> workloads;
  std::vector<std::string> baselines;  // names the baseline folder knows; the first is the bar
  std::vector<Form> forms = {Form::kKernel};
  std::optional<ProgramEntry> program;  // needed where forms has kProgram
  std::vector<Rival> rivals;            // `baselines` may name them too
  std::vector<std::string> allow;       // libraries that a program may call: "cublas", "cudnn", ...
  std::string precision;                // "f32": no tensor-core instruction may round below it
  std::string origin;                   // where an imported task came from, with its size set
  bool headline = true;                 // false: judged, but kept out of summaries
  Expression flops = Expression::Constant(0);  // per launch; 0: unknown, the bound is bytes only
};

// Content id of everything that decides what a verdict means (not the task's name).
std::string TaskId(const Task& task);

// Elements of a tensor for one workload: every extent >= 1, bytes < 2^40, or an Error.
Result<std::vector<int64_t>> Extents(const TensorSpec& tensor, const Sizes& sizes);
// Of all elements, one behind the other. Errors as those of Extents.
Result<int64_t> TensorBytes(const TensorSpec& tensor, const Sizes& sizes);

// What was seen of a task on a device, as numbers: what `task check` judges (src/task/check.h). The
// reference runs on drawn inputs; no candidate is involved.
struct TaskObservations {
  std::string workload;
  std::string reference_failure;             // one line; empty: it ran
  std::vector<std::string> trivial_answers;  // that pass: "zeros", "a constant", "a copy of x"
  double roofline_us = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_TASK_H_
