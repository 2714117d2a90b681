#include "task/hgemm_task.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace warpsmith::task {
namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 24;
constexpr std::array<int64_t, 10> kPaperExtents = {64,   128,  256,  512,   1024,
                                                   2048, 4096, 8192, 12288, 16384};

Error BadShape(std::string_view text, std::string found) {
  return {ErrorCode::kBadInput, "shape '" + std::string(text) + "': " + std::move(found),
          "write MxNxK with three whole numbers, as in 512x4096x1024"};
}

Result<int64_t> ParseExtent(std::string_view shape, char name, std::string_view digits) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string what = std::string(1, name) + " is '" + std::string(digits) + "', ";
  if (failed == std::errc::result_out_of_range) return BadShape(shape, what + "too large");
  if (failed != std::errc() || end != digits.data() + digits.size()) {
    return BadShape(shape, what + "not a number");
  }
  if (value < 1) return BadShape(shape, what + "must be at least 1");
  if (value > kLargestExtent) return BadShape(shape, what + "must be at most 2^24");
  return value;
}

TensorSpec Matrix(std::string_view name, DType dtype, Role role, std::string_view rows,
                  std::string_view columns) {
  TensorSpec tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.role = role;
  tensor.shape = {Expression::Literal(rows), Expression::Literal(columns)};
  return tensor;
}

}  // namespace

Result<HgemmShape> ParseHgemmShape(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, 'x');
  if (parts.size() != 3) {
    return BadShape(text, "found " + std::to_string(parts.size()) + " extents, expected three");
  }
  HgemmShape shape;
  shape.m = TRY(ParseExtent(text, 'M', parts[0]));
  shape.n = TRY(ParseExtent(text, 'N', parts[1]));
  shape.k = TRY(ParseExtent(text, 'K', parts[2]));
  const Workload workload = HgemmWorkload(shape);
  for (const TensorSpec& tensor : HgemmTask("TN").tensors) TRY(TensorBytes(tensor, workload.sizes));
  return shape;
}

Result<std::vector<HgemmShape>> ParseHgemmShapes(std::string_view text) {
  if (text == "demo") return DemoShapes();
  if (text == "paper") return PaperShapes();
  std::vector<HgemmShape> shapes;
  for (std::string_view part : Split(text, ',')) shapes.push_back(TRY(ParseHgemmShape(part)));
  return shapes;
}

std::string Name(const HgemmShape& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

std::vector<HgemmShape> DemoShapes() {
  return {{64, 64, 64},     {128, 128, 128},    {64, 64, 1024},     {256, 256, 256},
          {4096, 64, 64},   {512, 512, 512},    {256, 256, 16384},  {1024, 1024, 1024},
          {8192, 8192, 64}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
}

std::vector<HgemmShape> PaperShapes() {
  std::vector<HgemmShape> shapes;
  for (int64_t m : kPaperExtents) {
    for (int64_t n : kPaperExtents) {
      for (int64_t k : kPaperExtents) shapes.push_back({m, n, k});
    }
  }
  return shapes;
}

Task HgemmTask(std::string_view layout, DType dtype) {
  CHECK(layout == "NN" || layout == "TN");
  CHECK(dtype == DType::kF16 || dtype == DType::kBF16);
  const bool is_nn = layout == "NN";
  Task task;
  task.name = "hgemm-" + std::string(layout) + (dtype == DType::kBF16 ? "-bf16" : "");
  task.tensors = {Matrix("A", dtype, Role::kInput, "M", "K"),
                  Matrix("B", dtype, Role::kInput, is_nn ? "K" : "N", is_nn ? "N" : "K"),
                  Matrix("C", dtype, Role::kOutput, "M", "N")};
  task.reference = {"gemm", {{"layout", std::string(layout)}}};
  task.tolerance.reduction_length = Expression::Literal("K");
  task.baselines = {"cublaslt-auto"};
  task.flops = Expression::Literal("2 * M * N * K");
  return task;
}

Workload HgemmWorkload(const HgemmShape& shape) {
  Workload workload;
  workload.name = Name(shape);
  workload.sizes = {{"M", shape.m}, {"N", shape.n}, {"K", shape.k}};
  return workload;
}

HgemmShape ShapeOf(const Workload& workload) {
  return {workload.sizes.at("M"), workload.sizes.at("N"), workload.sizes.at("K")};
}

std::string LayoutOf(const Task& task) {
  if (task.reference.kind != "gemm") return "";
  const auto found = task.reference.options.find("layout");
  const bool known =
      found != task.reference.options.end() && (found->second == "NN" || found->second == "TN");
  return known ? found->second : "";
}

DType DTypeOf(const Task& task) { return task.tensors.front().dtype; }

}  // namespace warpsmith::task
