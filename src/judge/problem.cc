#include "judge/problem.h"

#include <fmt/format.h>

namespace warpsmith::judge {
namespace {

Error Unfit(const Task& task, const std::string& found) {
  return Error{ErrorCode::kBadInput, fmt::format("task {}: {}", task.name, found),
               "the gemm reference needs f16 inputs A (M x K) and B (K x N, or N x K with layout "
               "TN), in this order, and one f16 output (M x N)"};
}

struct Roles {
  const TensorSpec *a = nullptr, *b = nullptr, *c = nullptr;
};

Result<Roles> RolesOf(const Task& task) {
  Roles roles;
  for (const TensorSpec& tensor : task.tensors) {
    const TensorSpec** place = tensor.role == Role::kOutput ? &roles.c
                               : roles.a == nullptr         ? &roles.a
                                                            : &roles.b;
    if (*place != nullptr)
      return Unfit(task, fmt::format("tensor {} is one too many", tensor.name));
    if (tensor.dtype != DType::kF16) {
      return Unfit(task, fmt::format("tensor {} is {}", tensor.name, Name(tensor.dtype)));
    }
    *place = &tensor;
  }
  if (roles.a == nullptr || roles.b == nullptr || roles.c == nullptr) {
    return Unfit(task, fmt::format("{} tensors are too few", task.tensors.size()));
  }
  return roles;
}

Result<bool> TransposedOf(const Task& task) {
  const auto layout = task.reference.options.find("layout");
  if (layout == task.reference.options.end() || layout->second == "NN") return false;
  if (layout->second == "TN") return true;
  return Unfit(task, fmt::format("reference.layout is '{}'", layout->second));
}

}  // namespace

Result<GemmProblem> ProblemOf(const Task& task, const Workload& workload) {
  if (task.reference.kind != "gemm") {
    return Unfit(task, fmt::format("reference kind is '{}'", task.reference.kind));
  }
  const Roles roles = TRY(RolesOf(task));
  const std::vector<int64_t> a = TRY(Extents(*roles.a, workload.sizes));
  const std::vector<int64_t> b = TRY(Extents(*roles.b, workload.sizes));
  const std::vector<int64_t> c = TRY(Extents(*roles.c, workload.sizes));
  if (a.size() != 2 || b.size() != 2 || c.size() != 2) {
    return Unfit(task, "a tensor is not a matrix");
  }
  GemmProblem problem;
  problem.transposed = TRY(TransposedOf(task));
  problem.m = a[0];
  problem.k = a[1];
  problem.n = problem.transposed ? b[0] : b[1];
  const int64_t k_of_b = problem.transposed ? b[1] : b[0];
  if (k_of_b != problem.k || c[0] != problem.m || c[1] != problem.n) {
    return Unfit(task, fmt::format("shapes {}x{}, {}x{} and {}x{} do not fit together", a[0], a[1],
                                   b[0], b[1], c[0], c[1]));
  }
  if (problem.output_elements() > int64_t{0xffffffff}) return Unfit(task, "over 2^32 outputs");
  problem.inputs = {roles.a->name, roles.b->name};
  problem.generators = {roles.a->generator, roles.b->generator};
  problem.output = roles.c->name;
  problem.input_bytes = {TRY(TensorBytes(*roles.a, workload.sizes)),
                         TRY(TensorBytes(*roles.b, workload.sizes))};
  problem.output_bytes = TRY(TensorBytes(*roles.c, workload.sizes));
  problem.bound = TRY(CoefficientsOf(task.tolerance, roles.c->dtype, workload.sizes));
  return problem;
}

ProblemBytes BytesOf(const GemmProblem& problem) {
  return {problem.input_bytes, problem.output_bytes,
          kReferenceBytesPerElement * problem.output_elements()};
}

}  // namespace warpsmith::judge
