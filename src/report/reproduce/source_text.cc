#include <fmt/format.h>

#include <algorithm>

#include "report/reproduce/quoting.h"
#include "report/reproduce/texts.h"

namespace warpsmith::reproduce {
namespace {

std::string TypeText(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "kF16";
    case DType::kBF16:
      return "kBF16";
    case DType::kF32:
      return "kF32";
    case DType::kF64:
      return "kF64";
    case DType::kI8:
      return "kI8";
    case DType::kI32:
      return "kI32";
    case DType::kI64:
      return "kI64";
    case DType::kBool:
      return "kBool";
  }
  std::abort();
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

std::string FillText(const TensorSpec& tensor) {
  if (tensor.role == Role::kOutput) return "kOutput";
  switch (tensor.generator) {
    case Generator::kNormal:
      return "kNormal";
    case Generator::kUniform:
      return "kUniform";
    case Generator::kUnit:
      return "kUnit";
    case Generator::kIntegers:
      return "kIntegers";
    case Generator::kOffsets:
      return "kOffsets";
    case Generator::kReference:
      break;
  }
  // Only the reference could draw them: whole numbers may be indices.
  return IsFloat(tensor.dtype) ? "kNormal" : "kZero";
}

Result<std::string> TensorText(const TensorSpec& tensor, const Sizes& sizes) {
  int64_t elements = 1;
  std::string shape;
  for (const int64_t extent : TRY(Extents(tensor, sizes))) {
    elements *= extent;
    shape += fmt::format("{}{}", shape.empty() ? "" : " x ", extent);
  }
  const std::string fill = FillText(tensor);
  std::string bounds;
  if (fill == "kIntegers" || fill == "kOffsets") {
    bounds =
        fmt::format(", {}, {}", TRY(tensor.low.Evaluate(sizes)), TRY(tensor.high.Evaluate(sizes)));
  }
  return fmt::format("      {{{}, Type::{}, {}, Fill::{}{}}},  // {}\n", CppLiteral(tensor.name),
                     TypeText(tensor.dtype), elements, fill, bounds, shape);
}

std::string Head(const Subject& subject) {
  return fmt::format(
      "// Written by warpsmith: times the candidate of README.txt without it.\n"
      "// Task {}, workload {}, {} SMs. reproduce.sh builds and runs it.\n",
      Plain(subject.task.name), Plain(subject.workload.name), subject.device.sm_count);
}

std::string MethodOf(Mode mode) {
  switch (mode) {
    case Mode::kDeviceHot:
      return "Device";
    case Mode::kDeviceCold:
      return "DeviceCold";
    case Mode::kOffline:
      return "Offline";
    case Mode::kServer:
      return "Server";
    case Mode::kWall:
      return "Wall";
  }
  std::abort();
}

// The verdict's modes; with the wall clock where PyTorch is to be compared.
std::string MeasurementsText(const Subject& subject, bool with_torch) {
  std::vector<Mode> modes;
  for (const Timing& timing : std::get<Passed>(subject.verdict.outcome).timings) {
    for (const ModeTiming& mode : timing.modes) modes.push_back(mode.mode);
  }
  const bool has_wall = std::find(modes.begin(), modes.end(), Mode::kWall) != modes.end();
  if (with_torch && !has_wall) modes.push_back(Mode::kWall);
  std::string text;
  for (const Mode mode : modes) text += fmt::format("  measurement.{}();\n", MethodOf(mode));
  return text;
}

}  // namespace

Result<std::string> SourceText(const Subject& subject, const Contenders& contenders) {
  std::string text = Head(subject);
  if (std::any_of(contenders.timed.begin(), contenders.timed.end(),
                  [](const Contender& one) { return one.needs_cublas; })) {
    text += "#include \"support/gemm.h\"\n";
  }
  text += "#include \"support/launch.h\"\n#include \"support/measure.h\"\n";
  text += "#include \"support/program.h\"\n\n";
  std::string declarations, pointers, tensors;
  for (const Contender& contender : contenders.timed) {
    if (!contender.definition.empty()) text += contender.definition + "\n";
    declarations += "  " + contender.declaration + "\n";
    pointers += (pointers.empty() ? "&" : ", &") + contender.variable;
  }
  for (const TensorSpec& tensor : subject.task.tensors) {
    tensors += TRY(TensorText(tensor, subject.workload.sizes));
  }
  text += fmt::format(
      "int main(int argc, char** argv) {{\n"
      "  const std::vector<Tensor> tensors = {{\n{}  }};\n{}"
      "  Measurement measurement(tensors, {{{}}}, ParseOptions(argc, argv));\n{}"
      "  return 0;\n}}\n",
      tensors, declarations, pointers, MeasurementsText(subject, !contenders.callees.empty()));
  return text;
}

}  // namespace warpsmith::reproduce
