// A task: what must be computed, on which sizes, how exactly, and against whom.
#ifndef WARPSMITH_CORE_TASK_H_
#define WARPSMITH_CORE_TASK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/expression.h"

namespace warpsmith {

enum class Role : uint8_t { kInput, kOutput };

// How the judge fills an input. All are drawn from secret per-run seeds.
enum class Generator : uint8_t {
  kNormal,   // N(0, 1)
  kUniform,  // U(-1, 1)
};

// Dense, row-major in the order of `shape`: the last extent is contiguous.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF16;
  Role role = Role::kInput;
  std::vector<Expression> shape;  // elements, over the workload's sizes
  Generator generator = Generator::kNormal;
};

// What computes the expected output. `kind` "gemm" is built in: out = A * B (options: layout =
// NN|TN) in FP64 with its magnitude sum |a||b|. Later kinds: "cuda", "torch".
struct ReferenceSpec {
  std::string kind;
  std::map<std::string, std::string> options;
};

// Either derived: |out - ref| <= u_out |ref| + c (K/16 + 8) u_acc sum|a||b|
// (docs/judge-protocol.md), with K the reduction length; or given, with a reason that the report
// prints.
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

enum class Form : uint8_t {
  kKernel,   // device code only, launched from its plan by the judge
  kProgram,  // host and device code
};

struct Task {
  std::string name;
  std::vector<TensorSpec> tensors;
  ReferenceSpec reference;
  Tolerance tolerance;
  std::vector<Workload> workloads;
  std::vector<std::string> baselines;  // names the baseline folder knows; the first is the bar
  std::vector<Form> forms = {Form::kKernel};
  Expression flops = Expression::Constant(0);  // per launch; 0: unknown, the floor is bytes only
};

// Content id of everything that decides what a verdict means (not the task's name).
std::string TaskId(const Task& task);

// Elements of a tensor for one workload: every extent >= 1, bytes < 2^40, or an Error.
Result<std::vector<int64_t>> Extents(const TensorSpec& tensor, const Sizes& sizes);
Result<int64_t> TensorBytes(const TensorSpec& tensor, const Sizes& sizes);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_TASK_H_
