#include "kernelbench/pairing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "kernelbench/task_document.h"
#include "kernelbench/task_folder.h"
#include "util/file.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;

constexpr const char* kModuleFile = "model.py";

Error Reason(const std::string& text) { return {ErrorCode::kBadInput, text, ""}; }

std::vector<int64_t> WithoutOnes(std::vector<int64_t> shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

bool SameExtents(const TensorRow& a, const TensorRow& b) {
  return WithoutOnes(a.shape) == WithoutOnes(b.shape);
}

std::string Text(const TensorRow& row) {
  std::string text;
  for (const int64_t extent : row.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return row.name + " (" + text + ")";
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// How alike two names are: equal, one ending in the other, ending in the same word, or not.
int Likeness(const std::string& ours, const std::string& theirs) {
  const std::string a = Lower(Identifier(ours)), b = Lower(Identifier(theirs));
  if (a == b) return 3;
  if (a.ends_with(b) || b.ends_with(a)) return 2;
  return a.substr(a.rfind('_') + 1) == b.substr(b.rfind('_') + 1) ? 1 : 0;
}

// The most alike of the driver's inputs that have these extents and are not taken; of equals the
// first.
std::optional<size_t> Take(const TensorRow& row, const DriverDescription& driver,
                           std::set<size_t>& taken) {
  std::optional<size_t> best;
  int likeness = -1;
  for (size_t i = 0; i < driver.tensors.size(); ++i) {
    const DriverTensor& tensor = driver.tensors[i];
    if (tensor.is_output || taken.contains(i) || !SameExtents(row, tensor.row)) continue;
    const int now = Likeness(row.name, tensor.row.name);
    if (now > likeness) {
      best = i;
      likeness = now;
    }
  }
  if (best) taken.insert(*best);
  return best;
}

Status CheckOutputs(const ModuleInspection& module, const DriverDescription& driver) {
  std::vector<TensorRow> outputs;
  for (const DriverTensor& tensor : driver.tensors) {
    if (tensor.is_output) outputs.push_back(tensor.row);
  }
  if (outputs.size() != module.outputs.size()) return Reason("it has another number of outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (SameExtents(outputs[i], module.outputs[i])) continue;
    return Reason("the output is " + Text(module.outputs[i]) + " there, " + Text(outputs[i]) +
                  " here");
  }
  return {};
}

bool IsCount(const TensorRow& row) { return row.dtype == DType::kI64 && row.shape.empty(); }

// The types that the driver computes in, as the peer names them; empty: as the module has them.
std::string CastType(const DriverDescription& driver) {
  for (const DriverTensor& tensor : driver.tensors) {
    if (tensor.row.dtype == DType::kF16 || tensor.row.dtype == DType::kBF16) {
      return std::string(Name(tensor.row.dtype));
    }
  }
  return "";
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

// reference.options of a paired task: "module", "dtype", "inputs" (names of the task's tensors) and
// "parameters" ("conv.weight=conv_weight,...").
void WriteBinding(const Binding& binding, const DriverDescription& driver, json& task) {
  const json tensors = task["tensors"];
  const auto name = [&](size_t index) { return tensors[index]["name"].get<std::string>(); };
  std::vector<std::string> inputs, parameters;
  for (const size_t index : binding.inputs) inputs.push_back(name(index));
  for (const auto& [own, index] : binding.parameters) parameters.push_back(own + "=" + name(index));
  json& reference = task["reference"];
  reference["sources"].push_back(kModuleFile);
  reference["options"] = {
      {"module", kModuleFile}, {"inputs", Joined(inputs)}, {"parameters", Joined(parameters)}};
  if (const std::string dtype = CastType(driver); !dtype.empty()) {
    reference["options"]["dtype"] = dtype;
  }
  task["baselines"] = {"torch-best"};
}

Result<Binding> BindPair(const ModulePairs& pairs, const Problem& problem,
                         const DriverDescription& description) {
  const auto found = pairs.modules.find({problem.level, problem.number});
  if (found == pairs.modules.end()) return Reason("KernelBench has no problem of this number");
  if (!found->second.inspection.ok()) {
    return Reason("its module does not load: " + found->second.inspection.error().message);
  }
  return Bind(*found->second.inspection, description);
}

}  // namespace

Result<ModulePairs> LoadModules(const std::filesystem::path& checkout,
                                const std::vector<Problem>& problems, int jobs) {
  const Checkout modules = TRY(OpenCheckout(checkout));
  if (modules.kind != Kind::kModules) {
    return Error{ErrorCode::kBadInput, checkout.string() + ": no KernelBench checkout",
                 "give the one that holds level1/19_ReLU.py to --python"};
  }
  std::set<std::pair<int, int>> wanted;
  for (const Problem& problem : problems) wanted.insert({problem.level, problem.number});
  std::vector<Problem> picked;
  for (const Problem& problem : modules.problems) {
    if (wanted.contains({problem.level, problem.number})) picked.push_back(problem);
  }
  InspectionLimits limits;
  limits.jobs = jobs;
  const ModuleInspections inspections = TRY(Inspect(picked, limits));
  ModulePairs pairs;
  for (const Problem& problem : picked) {
    pairs.modules.insert_or_assign({problem.level, problem.number},
                                   ModulePairs::Module{problem, inspections.at(Id(problem))});
  }
  return pairs;
}

Result<Binding> Bind(const ModuleInspection& module, const DriverDescription& driver) {
  TRY(CheckOutputs(module, driver));
  Binding binding;
  std::set<size_t> taken;
  for (const InputRow& input : module.inputs) {
    if (!input.IsTensor()) continue;
    const std::optional<size_t> index = Take(input.tensor, driver, taken);
    if (!index) return Reason("input " + Text(input.tensor) + " has no equal in the driver");
    binding.inputs.push_back(*index);
  }
  for (const TensorRow& parameter : module.parameters) {
    if (IsCount(parameter)) continue;
    const std::optional<size_t> index = Take(parameter, driver, taken);
    if (!index) return Reason("parameter " + Text(parameter) + " has no equal in the driver");
    binding.parameters.emplace_back(parameter.name, *index);
  }
  for (size_t i = 0; i < driver.tensors.size(); ++i) {
    if (driver.tensors[i].is_output || taken.contains(i)) continue;
    return Reason("the driver's " + Text(driver.tensors[i].row) + " has no equal in the module");
  }
  return binding;
}

Result<std::string> AddPair(const ModulePairs& pairs, const Problem& problem,
                            const DriverDescription& description,
                            const std::filesystem::path& folder, json& task) {
  const Result<Binding> binding = BindPair(pairs, problem, description);
  if (!binding.ok()) {
    const std::string text = "no torch baseline: " + binding.error().message;
    task["origin"] = task["origin"].get<std::string>() + "; " + text;
    return text;
  }
  const ModulePairs::Module& module = pairs.modules.at({problem.level, problem.number});
  TRY(WriteFiles(folder, {{kModuleFile, TRY(ReadFile(module.problem.path))}}));
  WriteBinding(*binding, description, task);
  task["origin"] = task["origin"].get<std::string>() + "; torch baseline: KernelBench " +
                   Id(module.problem) + ", the same extents";
  return std::string();
}

}  // namespace warpsmith::kernelbench
