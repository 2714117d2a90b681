#include "task/kernelbench/task_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/task.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;

json TensorOf(const std::string& name, const TensorRow& row, bool is_output) {
  json tensor = {{"name", name},
                 {"dtype", Name(row.dtype)},
                 {"role", is_output ? "output" : "input"},
                 {"shape", row.shape.empty() ? std::vector<int64_t>{1} : row.shape}};
  if (!is_output) tensor["generator"] = "reference";
  return tensor;
}

bool IsKeyword(const std::string& word) {
  static const std::set<std::string> kWords = {
      "alignas",  "alignof", "and",      "asm",    "auto",     "bool",      "break",    "case",
      "catch",    "char",    "class",    "const",  "continue", "default",   "delete",   "do",
      "double",   "else",    "enum",     "export", "extern",   "false",     "float",    "for",
      "friend",   "goto",    "if",       "inline", "int",      "long",      "mutable",  "namespace",
      "new",      "not",     "operator", "or",     "private",  "protected", "public",   "register",
      "return",   "short",   "signed",   "sizeof", "static",   "struct",    "switch",   "template",
      "this",     "throw",   "true",     "try",    "typedef",  "typeid",    "typename", "union",
      "unsigned", "using",   "virtual",  "void",   "volatile", "while",     "xor",      "tensors"};
  return kWords.contains(word);
}

// Names that are taken get what the peer takes off again: "param_".
std::string ParameterName(const std::string& name, const std::set<std::string>& taken) {
  std::string unique = Identifier(name);
  while (taken.contains(unique)) unique = "param_" + unique;
  return unique;
}

std::string InputName(const std::string& name, const std::set<std::string>& taken) {
  std::string unique = Identifier(name);
  while (taken.contains(unique)) unique += "_";
  return unique;
}

// The growing call of a module's candidate.
struct Call {
  json tensors = json::array();
  std::vector<std::string> parameters, arguments;
  std::set<std::string> taken;

  void Add(const std::string& name, const TensorRow& row, bool is_output) {
    taken.insert(name);
    tensors.push_back(TensorOf(name, row, is_output));
    parameters.push_back((is_output ? "void* " : "const void* ") + name);
    arguments.push_back(name);
  }
};

Call CallOf(const ModuleInspection& inspection) {
  Call call;
  for (const TensorRow& output : inspection.outputs) {
    call.Add(InputName(output.name, call.taken), output, true);
  }
  for (const InputRow& input : inspection.inputs) {
    const std::string name = InputName(input.tensor.name, call.taken);
    if (input.IsTensor()) {
      call.Add(name, input.tensor, false);
      continue;
    }
    call.taken.insert(name);
    call.parameters.push_back(input.type + " " + name);
    call.arguments.push_back(input.literal);
  }
  for (const TensorRow& parameter : inspection.parameters) {
    call.Add(ParameterName(parameter.name, call.taken), parameter, false);
  }
  return call;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

// A bound below 1 is equality for whole numbers; a task cannot have none.
constexpr double kEqual = 0.5;

// KernelBench's eval.py compares with one number for both bounds, chosen by type: for large
// integers the relative one would let an index be another.
json ModuleTolerance(const std::vector<TensorRow>& outputs) {
  bool is_half = false, is_floating = false;
  for (const TensorRow& output : outputs) {
    is_half = is_half || output.dtype == DType::kF16 || output.dtype == DType::kBF16;
    is_floating = is_floating || IsFloating(output.dtype);
  }
  if (!is_floating) {
    return {{"absolute", kEqual},
            {"relative", 0.0},
            {"reason", "outputs are whole numbers: they must be equal"}};
  }
  const double bound = is_half ? 1e-2 : 1e-4;
  const std::string what = is_half ? "f16 and bf16" : "f32";
  return {{"absolute", bound}, {"relative", bound}, {"reason", "KernelBench's own for " + what}};
}

json Skeleton(const TaskNames& names) {
  return {{"version", 1},
          {"name", names.task},
          {"origin", names.origin},
          {"forms", {"program"}},
          {"workloads", {{{"name", "given"}, {"sizes", json::object()}}}}};
}

Status CheckTensors(const json& tensors) {
  if (tensors.size() > kMostTensors) {
    return BadInput("it has " + std::to_string(tensors.size()) + " tensors; the judge takes " +
                    std::to_string(kMostTensors));
  }
  for (const json& tensor : tensors) {
    if (tensor["role"] == "input") return {};
  }
  return BadInput("it has no input tensor");
}

// How the argument is written in the call; `names` are the tensors'.
std::string ArgumentText(const DriverArgument& argument, const std::vector<std::string>& names) {
  if (argument.tensors.empty()) return argument.expression;
  if (!argument.is_array) return names[argument.tensors.front()];
  std::vector<std::string> entries;
  for (const size_t index : argument.tensors) {
    entries.push_back("tensors[" + std::to_string(index) + "]");
  }
  return fmt::format("std::vector<void*>{{{}}}.data()", fmt::join(entries, ", "));
}

std::string NumberText(double number) { return json(number).dump(); }

json DriverTolerance(const DriverDescription& description) {
  const bool exact = description.absolute == 0 && description.relative == 0;
  return {
      {"absolute", exact ? 1e-30 : description.absolute},
      {"relative", description.relative},
      {"reason", "the driver's own: torch::allclose with rtol=" + NumberText(description.relative) +
                     ", atol=" + NumberText(description.absolute)}};
}

}  // namespace

std::string Identifier(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool fits =
        c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    plain += fits ? c : '_';
  }
  const bool needs_letter = plain.empty() || (plain[0] >= '0' && plain[0] <= '9');
  return needs_letter || IsKeyword(plain) ? "param_" + plain : plain;
}

Result<json> ModuleTask(const TaskNames& names, const ModuleInspection& inspection,
                        const std::string& source) {
  const Call call = CallOf(inspection);
  TRY(CheckTensors(call.tensors));
  json task = Skeleton(names);
  task["tensors"] = call.tensors;
  task["baselines"] = {"torch-best"};
  task["reference"] = {{"kind", "torch"}, {"style", "module"}, {"source", source}};
  task["tolerance"] = ModuleTolerance(inspection.outputs);
  task["program"] = {{"declaration", fmt::format("extern \"C\" void {}({})", kLaunchName,
                                                 fmt::join(call.parameters, ", "))},
                     {"arguments", call.arguments}};
  return task;
}

Result<json> DriverTask(const TaskNames& names, const DriverDescription& description,
                        const LaunchDeclaration& declaration) {
  if (description.arguments.size() != declaration.parameters.size()) {
    return BadInput("its launch was given " + std::to_string(description.arguments.size()) +
                    " arguments, its declaration has " +
                    std::to_string(declaration.parameters.size()));
  }
  json task = Skeleton(names);
  std::vector<std::string> tensor_names;
  std::set<std::string> taken;
  for (const DriverTensor& tensor : description.tensors) {
    tensor_names.push_back(InputName(tensor.row.name, taken));
    taken.insert(tensor_names.back());
    task["tensors"].push_back(TensorOf(tensor_names.back(), tensor.row, tensor.is_output));
  }
  TRY(CheckTensors(task["tensors"]));
  std::vector<std::string> arguments;
  for (const DriverArgument& argument : description.arguments) {
    arguments.push_back(ArgumentText(argument, tensor_names));
  }
  task["reference"] = {
      {"kind", "driver"}, {"entry", "driver.cpp"}, {"sources", {"driver.cpp", "launch.inc"}}};
  task["tolerance"] = DriverTolerance(description);
  task["program"] = {{"declaration", DeclarationText(declaration)}, {"arguments", arguments}};
  return task;
}

}  // namespace warpsmith::kernelbench
