#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "base/text.h"
#include "core/resolved_plan.h"
#include "report/reproduce/parts.h"

namespace warpsmith::reproduce {
namespace {

constexpr int64_t kWorkspaceAlignment = 256;

template <typename T>
std::string Braced(const T& values) {
  return "{" + Joined(values, ", ", [](const auto& value) { return fmt::format("{}", value); }) +
         "}";
}

std::string IntegerText(int64_t value, int bytes) {
  if (bytes == 4) return value == INT32_MIN ? "INT32_MIN" : fmt::format("{}", value);
  return value == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", value);
}

std::string FloatText(double value, int bytes) {
  if (std::isnan(value)) return bytes == 4 ? "NAN" : "static_cast<double>(NAN)";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:a}{}", value, bytes == 4 ? "f" : "");
}

// By DType. Bytes as warpsmith passes them: the sign is the kernel's business.
constexpr std::string_view kMapTypes[] = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64",
                                          "UINT8",   "INT32",    "INT64",   "UINT8"};

std::string BytesName(int bytes, std::string_view prefix = "") {
  return bytes == 0 ? "NONE" : fmt::format("{}{}B", prefix, bytes);
}

class Writer {
 public:
  Writer(const ClassNames& names, const Task& task, const LaunchPlan& plan,
         const ResolvedPlan& resolved)
      : names_(names), plan_(plan), resolved_(resolved) {
    for (size_t i = 0; i < task.tensors.size(); ++i) {
      address_[task.tensors[i].name] = fmt::format("at.tensor[{}]", i);
    }
    for (const ResolvedWorkspace& workspace : resolved.workspaces) {
      address_[workspace.name] = fmt::format("at.workspace + {}", workspace_bytes_);
      workspace_bytes_ +=
          (workspace.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    }
    for (size_t i = 0; i < resolved.operations.size(); ++i) WriteOperation(i);
  }

  std::string Text() const {
    return fmt::format(
        "class {} : public Contender {{\n public:\n  {}() : Contender({}) {{}}\n\n"
        "  size_t WorkspaceBytes() const override {{ return {}; }}\n\n"
        "  void Prepare(const std::vector<Buffers>&, CUstream) override {{\n"
        "    CUmodule module = LoadCubin({});\n{}  }}\n\n"
        "  void Call(const Buffers& at, CUstream stream) override {{\n{}{}  }}\n\n"
        " private:\n{}}};\n",
        names_.type, names_.type, CppLiteral(names_.title), workspace_bytes_,
        CppLiteral(names_.cubin), prepare_, ZeroedWorkspaces(), call_, members_);
  }

 private:
  std::string ZeroedWorkspaces() const {
    std::string text;
    for (const ResolvedWorkspace& workspace : resolved_.workspaces) {
      if (!workspace.zero) continue;
      text += fmt::format(
          "    // workspace {} is zeroed before every call\n"
          "    CU(cuMemsetD8Async({}, 0, {}, stream));\n",
          Plain(workspace.name), address_.at(workspace.name), workspace.bytes);
    }
    return text;
  }

  void WriteOperation(size_t index) {
    std::visit([&](const auto& operation) { Write(index, operation); },
               resolved_.operations[index]);
  }

  void Write(size_t index, const ResolvedMemset& memset) {
    call_ += fmt::format("    // operations[{}]: {}\n", index, Plain(memset.target));
    call_ += Fill(address_.at(memset.target), memset.value, memset.bytes);
  }

  void Write(size_t index, const ResolvedCopy& copy) {
    call_ += fmt::format(
        "    // operations[{}]: {} to {}\n"
        "    CU(cuMemcpyDtoDAsync({}, {}, {}, stream));\n",
        index, Plain(copy.source), Plain(copy.target), address_.at(copy.target),
        address_.at(copy.source), copy.bytes);
  }

  void Write(size_t index, const ResolvedPad& pad) {
    const std::string target = address_.at(pad.target);
    const int64_t pitch = pad.target_pitch_bytes;
    call_ += fmt::format(
        "    // operations[{}]: rows of {} to {}, the rest zero\n"
        "    CopyRows({}, {}, {}, {}, {}, {}, stream);\n",
        index, Plain(pad.source), Plain(pad.target), target, pitch, address_.at(pad.source),
        pad.source_pitch_bytes, pad.width_bytes, pad.rows);
    if (pitch > pad.width_bytes) {
      call_ += fmt::format("    CU(cuMemsetD2D8Async({} + {}, {}, 0, {}, {}, stream));\n", target,
                           pad.width_bytes, pitch, pitch - pad.width_bytes, pad.rows);
    }
    if (pad.target_rows > pad.rows) {
      call_ += Fill(fmt::format("{} + {}", target, pad.rows * pitch), 0,
                    (pad.target_rows - pad.rows) * pitch);
    }
  }

  static std::string Fill(const std::string& address, int value, int64_t bytes) {
    return fmt::format("    CU(cuMemsetD8Async({}, {}, {}, stream));\n", address, value, bytes);
  }

  void Write(size_t index, const ResolvedLaunch& launch) {
    const std::string kernel = fmt::format("kernel{}_", index);
    members_ += fmt::format("  CUfunction {} = nullptr;\n", kernel);
    prepare_ +=
        fmt::format("    {} = Kernel(module, {}, {}, {});\n", kernel, CppLiteral(launch.kernel),
                    launch.shared_bytes, launch.nonportable_cluster);
    call_ += fmt::format("    {{  // operations[{}]: {}\n", index, Plain(launch.kernel));
    const auto& source = std::get<LaunchOperation>(plan_.operations[index]);
    std::vector<std::string> pointers;
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      call_ += "      " + ArgumentText({index, i}, source.arguments[i], launch.arguments[i]);
      pointers.push_back(fmt::format("&a{}", i));
    }
    // An array needs an element.
    if (pointers.empty()) pointers.emplace_back("nullptr");
    call_ += fmt::format("      void* arguments[] = {};\n", Braced(pointers));
    call_ += fmt::format("      Launch({}, {}, stream, arguments);\n    }}\n", kernel,
                         ShapeText(launch));
  }

  static std::string ShapeText(const ResolvedLaunch& launch) {
    return fmt::format(
        "{{/*grid*/ {}, /*block*/ {}, /*cluster*/ {}, /*shared bytes*/ {},\n"
        "              /*cooperative*/ {}, /*programmatic*/ {}}}",
        Braced(launch.grid), Braced(launch.block), Braced(launch.cluster), launch.shared_bytes,
        launch.cooperative, launch.programmatic);
  }

  using Place = std::pair<size_t, size_t>;  // operation, argument

  // One line: the declaration of a<i>.
  std::string ArgumentText(Place place, const Argument& source, const ResolvedArgument& argument) {
    if (const auto* tensor = std::get_if<TensorArgument>(&argument)) {
      return Pointer(place.second, tensor->tensor);
    }
    if (const auto* workspace = std::get_if<WorkspaceArgument>(&argument)) {
      return Pointer(place.second, workspace->workspace);
    }
    if (const auto* scalar = std::get_if<ResolvedScalar>(&argument)) {
      return Scalar(place.second, source, *scalar);
    }
    if (const auto* table = std::get_if<TableArgument>(&argument)) return Table(place, *table);
    return Map(place.second, std::get<ResolvedTensorMap>(argument));
  }

  std::string Pointer(size_t i, const std::string& memory) const {
    return fmt::format("CUdeviceptr a{} = {};  // {}\n", i, address_.at(memory), Plain(memory));
  }

  static std::string Scalar(size_t i, const Argument& source, const ResolvedScalar& scalar) {
    if (const auto* number = std::get_if<FloatArgument>(&source)) {
      return fmt::format("{} a{} = {};\n", scalar.bytes == 4 ? "float" : "double", i,
                         FloatText(number->value, scalar.bytes));
    }
    int64_t value = 0;
    int32_t narrow = 0;
    std::memcpy(&value, scalar.bits.data(), sizeof(value));
    std::memcpy(&narrow, scalar.bits.data(), sizeof(narrow));
    if (scalar.bytes == 4) value = narrow;
    return fmt::format("int{}_t a{} = {};  // {}\n", scalar.bytes * 8, i,
                       IntegerText(value, scalar.bytes),
                       Plain(std::get<IntArgument>(source).value.text()));
  }

  std::string Table(Place place, const TableArgument& table) {
    const std::string member = fmt::format("table{}_{}_", place.first, place.second);
    members_ += fmt::format("  CUdeviceptr {} = 0;\n", member);
    std::vector<std::string> values;
    for (const int32_t value : table.values) values.push_back(IntegerText(value, 4));
    prepare_ += fmt::format("    {} = Upload({});\n", member, Braced(values));
    return fmt::format("CUdeviceptr a{} = {};\n", place.second, member);
  }

  std::string Map(size_t i, const ResolvedTensorMap& map) const {
    return fmt::format(
        "CUtensorMap a{} = TensorMap({}, {{  // {}\n"
        "          CU_TENSOR_MAP_DATA_TYPE_{}, /*dims*/ {}, /*strides in bytes*/ {},\n"
        "          /*box*/ {}, /*element strides*/ {}, CU_TENSOR_MAP_INTERLEAVE_{},\n"
        "          CU_TENSOR_MAP_SWIZZLE_{}, CU_TENSOR_MAP_L2_PROMOTION_{},\n"
        "          CU_TENSOR_MAP_FLOAT_OOB_FILL_{}}});\n",
        i, address_.at(map.tensor), Plain(map.tensor), kMapTypes[static_cast<size_t>(map.dtype)],
        Braced(map.dims), Braced(map.strides_bytes), Braced(map.box), Braced(map.element_strides),
        BytesName(map.interleave_bytes), BytesName(SwizzleBytes(map.swizzle)),
        BytesName(map.l2_promotion_bytes, "L2_"), map.fill_nan ? "NAN_REQUEST_ZERO_FMA" : "NONE");
  }

  const ClassNames& names_;
  const LaunchPlan& plan_;
  const ResolvedPlan& resolved_;
  std::map<std::string, std::string> address_;
  int64_t workspace_bytes_ = 0;
  std::string prepare_, call_, members_;
};

}  // namespace

std::string PlanClass(const ClassNames& names, const Task& task, const LaunchPlan& plan,
                      const ResolvedPlan& resolved) {
  return Writer(names, task, plan, resolved).Text();
}

}  // namespace warpsmith::reproduce
