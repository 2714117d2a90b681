#include "judge/resolved_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "judge/baseline/gemm_baseline.h"

namespace warpsmith::judge {
namespace {

Error Unfit(const Task& task, const std::string& found) {
  return Error{
      ErrorCode::kBadInput, fmt::format("task {}: {}", task.name, found),
      "the gemm reference needs inputs A (M x K) and B (K x N, or N x K with layout TN), in "
      "this order, and one output (M x N), all f16 or all bf16"};
}

Result<bool> TransposedOf(const Task& task) {
  const auto layout = task.reference.options.find("layout");
  if (layout == task.reference.options.end() || layout->second == "NN") return false;
  if (layout->second == "TN") return true;
  return Unfit(task, fmt::format("reference.layout is '{}'", layout->second));
}

Result<GemmShape> GemmShapeOf(const Task& task, const ResolvedTask& problem) {
  if (problem.inputs.size() != 2 || problem.outputs.size() != 1) {
    return Unfit(task, fmt::format("{} inputs and {} outputs", problem.inputs.size(),
                                   problem.outputs.size()));
  }
  GemmShape shape;
  shape.dtype = problem.inputs[0].dtype;
  const bool is_half = shape.dtype == DType::kF16 || shape.dtype == DType::kBF16;
  for (size_t role = 0; role < problem.Roles(); ++role) {
    const TensorInfo& tensor = problem.Tensor(role);
    if (!is_half || tensor.dtype != shape.dtype) {
      return Unfit(task, fmt::format("tensor {} is {}", tensor.name, Name(tensor.dtype)));
    }
    if (tensor.extents.size() != 2) return Unfit(task, tensor.name + " is not a matrix");
  }
  const auto &a = problem.inputs[0].extents, &b = problem.inputs[1].extents,
             &c = problem.outputs[0].extents;
  shape.transposed = TRY(TransposedOf(task));
  shape.m = a[0];
  shape.k = a[1];
  shape.n = shape.transposed ? b[0] : b[1];
  if ((shape.transposed ? b[1] : b[0]) != shape.k || c[0] != shape.m || c[1] != shape.n) {
    return Unfit(task, fmt::format("shapes {}x{}, {}x{} and {}x{} do not fit together", a[0], a[1],
                                   b[0], b[1], c[0], c[1]));
  }
  return shape;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

// FP64 where a reference process can give it: unless the task says otherwise, or the numbers are
// whole.
DType ExpectedType(const Task& task, DType output) {
  if (task.reference.kind == "gemm") return DType::kF64;
  if (!IsFloating(output)) return output;
  const auto option = task.reference.options.find("outputs");
  if (option != task.reference.options.end()) {
    return DTypeFromName(option->second).value_or(DType::kF64);
  }
  return task.reference.kind == "driver" ? output : DType::kF64;
}

Result<TensorInfo> InfoOf(const TensorSpec& tensor, const Sizes& sizes) {
  TensorInfo info{tensor.name, tensor.dtype, tensor.generator, 0, 0, {}, 1, 0};
  info.extents = TRY(Extents(tensor, sizes));
  info.bytes = TRY(TensorBytes(tensor, sizes));
  info.elements = info.bytes / ElementBytes(tensor.dtype);
  info.low = TRY(tensor.low.Evaluate(sizes));
  info.high = TRY(tensor.high.Evaluate(sizes));
  const bool ranged =
      tensor.generator == Generator::kIntegers || tensor.generator == Generator::kOffsets;
  if (ranged && info.high <= info.low) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("tensor {}: no whole numbers from {} to below {}", tensor.name,
                             info.low, info.high),
                 "give the tensor low and high"};
  }
  return info;
}

Status CheckReference(const Task& task, const ResolvedTask& problem) {
  const std::string& kind = task.reference.kind;
  if (kind != "gemm" && kind != "cuda" && kind != "torch" && kind != "driver") {
    return Error{ErrorCode::kBadInput,
                 fmt::format("task {}: reference kind is '{}'", task.name, kind),
                 "use gemm, cuda, torch or driver"};
  }
  if (problem.outputs.empty() || problem.Roles() > kMostTensors) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("task {}: {} inputs and {} outputs", task.name, problem.inputs.size(),
                    problem.outputs.size()),
        fmt::format("a task needs at least one output and at most {} tensors", kMostTensors)};
  }
  if (kind == "cuda" && !task.reference.plan) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("task {}: its cuda reference has no plan", task.name),
                 "say in [reference] how its kernel is launched"};
  }
  return {};
}

// Says of the error which part of the task it is about; the part is at fault, not the command line.
Error InPart(const std::string& part, Error error) {
  error.code = ErrorCode::kBadInput;
  error.message = part + ": " + error.message;
  return error;
}

Status CheckBaseline(const std::string& name, const Task& task) {
  const bool is_rival = std::any_of(task.rivals.begin(), task.rivals.end(),
                                    [&](const Rival& rival) { return rival.name == name; });
  if (is_rival) return {};
  if (task.reference.kind == "gemm") {
    TRY(baseline::ParseGemmBaselineName(name));
    return {};
  }
  const bool is_torch = name == "torch-eager" || name == "torch-compile" || name == "torch-best";
  if (is_torch && task.reference.kind != "cuda") return {};
  return Error{ErrorCode::kBadInput, "'" + name + "' is no baseline of this task",
               "name one of its [[rivals]], or with a torch reference torch-eager, torch-compile "
               "or torch-best"};
}

}  // namespace

Status CheckTask(const Task& task, const Workload& workload) {
  TRY(ResolveTask(task, workload));
  const auto flops = task.flops.Evaluate(workload.sizes);
  if (!flops.ok()) return InPart("flops", flops.error());
  for (const std::string& name : task.baselines) {
    const Status known = CheckBaseline(name, task);
    if (!known.ok()) return InPart("baselines", known.error());
  }
  return {};
}

Result<ResolvedTask> ResolveTask(const Task& task, const Workload& workload) {
  ResolvedTask problem;
  for (const TensorSpec& tensor : task.tensors) {
    auto& list = tensor.role == Role::kOutput ? problem.outputs : problem.inputs;
    list.push_back(TRY(InfoOf(tensor, workload.sizes)));
  }
  TRY(CheckReference(task, problem));
  if (task.reference.kind == "gemm") problem.gemm = TRY(GemmShapeOf(task, problem));
  problem.reference_draws =
      std::any_of(problem.inputs.begin(), problem.inputs.end(),
                  [](const TensorInfo& input) { return input.generator == Generator::kReference; });
  for (const TensorInfo& output : problem.outputs) {
    // VerifyResult::worst keeps an element's number in 32 bits (device/verify.cuh).
    if (output.elements > int64_t{0xffffffff}) {
      return Error{ErrorCode::kBadInput,
                   fmt::format("task {}: output {} has over 2^32 elements", task.name, output.name),
                   "split it into several outputs"};
    }
    problem.bounds.push_back(TRY(CoefficientsOf(
        task.tolerance, output.dtype, workload.sizes,
        problem.gemm ? MagnitudeKind::kSumOfProducts : MagnitudeKind::kLargestValue)));
    problem.expected.push_back(ExpectedType(task, output.dtype));
  }
  if (problem.gemm) {
    const Rounding rounding = LastPlaceOf(problem.outputs.front().dtype, problem.expected.front());
    problem.allowed_bias = TRY(AllowedBias(task.tolerance, rounding, workload.sizes));
  }
  return problem;
}

Task ReferenceTask(const Task& task) {
  Task reference = task;
  for (TensorSpec& tensor : reference.tensors) {
    if (tensor.role == Role::kOutput) tensor.dtype = ExpectedType(task, tensor.dtype);
  }
  return reference;
}

std::vector<size_t> RolesInTaskOrder(const Task& task) {
  const auto is_input = [](const TensorSpec& tensor) { return tensor.role == Role::kInput; };
  auto outputs =
      static_cast<size_t>(std::count_if(task.tensors.begin(), task.tensors.end(), is_input));
  size_t inputs = 0;
  std::vector<size_t> roles;
  for (const TensorSpec& tensor : task.tensors) {
    roles.push_back(is_input(tensor) ? inputs++ : outputs++);
  }
  return roles;
}

ProblemBytes BytesOf(const ResolvedTask& problem) {
  ProblemBytes bytes;
  bytes.crossed = problem.gemm.has_value();
  for (const TensorInfo& input : problem.inputs) bytes.input.push_back(input.bytes);
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    bytes.output += problem.outputs[i].bytes;
    const int64_t element =
        ElementBytes(problem.expected[i]) + (problem.gemm ? kMagnitudeBytes : 0);
    bytes.reference += element * problem.outputs[i].elements;
  }
  return bytes;
}

namespace {

struct Part {
  std::string_view name_part;  // looked for in the driver's device name, first match wins
  PartRates rates;
};

// FLOP/s of dense FP16 tensor cores, bytes/s of device memory, bytes/s of L2. A device without a
// row has no rates of its own; then only what the driver tells of its memory bounds a time
// (oracle.cc).
constexpr std::array<Part, 8> kParts = {{
    {"GH200", {989e12, 4.9e12, 10e12}},
    {"H200", {989e12, 4.8e12, 10e12}},
    {"H100 NVL", {989e12, 3.94e12, 10e12}},
    {"H100 PCIe", {756e12, 2.04e12, 10e12}},
    {"H100", {989e12, 3.36e12, 10e12}},
    {"A100-SXM4-80GB", {312e12, 2.04e12, 7e12}},
    {"A100 80GB", {312e12, 1.94e12, 7e12}},
    {"A100", {312e12, 1.56e12, 7e12}},
}};

double Seconds(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

}  // namespace

PartRates RatesOf(std::string_view device_name) {
  for (const Part& part : kParts) {
    if (device_name.find(part.name_part) != std::string_view::npos) return part.rates;
  }
  return {};
}

Result<int64_t> CompulsoryBytes(const Task& task, const Workload& workload) {
  int64_t bytes = 0;
  for (const TensorSpec& tensor : task.tensors) bytes += TRY(TensorBytes(tensor, workload.sizes));
  return bytes;
}

Result<double> RooflineUs(const DeviceInfo& device, const Task& task, const Workload& workload,
                          Mode mode) {
  const auto flops = static_cast<double>(TRY(task.flops.Evaluate(workload.sizes)));
  const auto bytes = static_cast<double>(TRY(CompulsoryBytes(task, workload)));
  const bool hot = mode == Mode::kDeviceHot || mode == Mode::kOffline;
  // What does not fit in L2 must come from memory even when "hot".
  const double beyond_l2 = std::max(0.0, bytes - static_cast<double>(device.l2_bytes));
  const double memory_bytes = hot ? beyond_l2 : bytes;
  const double seconds = std::max({Seconds(flops, device.tensor_f16_flops),
                                   Seconds(memory_bytes, device.hbm_bytes_per_s),
                                   Seconds(bytes, device.l2_bytes_per_s)});
  return seconds * 1e6;
}

}  // namespace warpsmith::judge
