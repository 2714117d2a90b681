#include "task/kernelbench/pairing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "task/kernelbench/task_folder.h"
#include "task/source_files.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;

constexpr const char* kModuleFile = "model.py";
constexpr std::string_view kPairingSource = "what the paired module told";

// The types that the driver computes in, as the peer names them; empty: as the module has them.
std::string CastType(const DriverDescription& driver) {
  for (const DriverTensor& tensor : driver.tensors) {
    if (tensor.row.dtype == DType::kF16 || tensor.row.dtype == DType::kBF16) {
      return std::string(Name(tensor.row.dtype));
    }
  }
  return "";
}

// reference.options of a paired task: "module", "dtype", "inputs" (names of the task's tensors) and
// "parameters" ("conv.weight=conv_weight,...").
json OptionsOf(const Binding& binding, const DriverDescription& driver, const json& tensors) {
  const auto name = [&](size_t index) { return tensors[index]["name"].get<std::string>(); };
  std::vector<std::string> inputs, parameters;
  for (const size_t index : binding.inputs) inputs.push_back(name(index));
  for (const auto& [own, index] : binding.parameters) parameters.push_back(own + "=" + name(index));
  json options = {{"module", kModuleFile},
                  {"inputs", fmt::format("{}", fmt::join(inputs, ","))},
                  {"parameters", fmt::format("{}", fmt::join(parameters, ","))}};
  if (const std::string dtype = CastType(driver); !dtype.empty()) options["dtype"] = dtype;
  return options;
}

// The module that a problem may be paired with.
Result<const ModulePairs::Module*> ModuleOf(const ModulePairs& pairs,
                                            const BenchmarkProblem& problem) {
  const auto found = pairs.modules.find({problem.level, problem.number});
  if (found == pairs.modules.end()) return BadInput("KernelBench has no problem of this number");
  if (!found->second.inspection.ok()) {
    return BadInput("its module does not load: " + found->second.inspection.error().message);
  }
  return &found->second;
}

// The options of the binding that is right; the module's file stays in the folder.
Result<json> ChosenOptions(const ModulePairs::Module& module, const DriverDescription& description,
                           const std::filesystem::path& folder, const ChooseBinding& choose,
                           const json& task) {
  json options = json::array();
  for (const Binding& binding : TRY(Bindings(*module.inspection, description))) {
    options.push_back(OptionsOf(binding, description, task["tensors"]));
  }
  TRY(WriteFiles(
      folder, {{kModuleFile, TRY(ReadRegularFile(module.problem.path, task::kMaxSourceBytes))}}));
  return options.at(TRY(choose(task, options)));
}

}  // namespace

Result<ModulePairs> LoadModules(const std::filesystem::path& checkout,
                                const std::vector<BenchmarkProblem>& problems, int jobs) {
  const Checkout modules = TRY(OpenCheckout(checkout));
  if (modules.kind != Kind::kModules) {
    return Error{ErrorCode::kBadInput, checkout.string() + ": no KernelBench checkout",
                 "give the one that holds level1/19_ReLU.py to --python"};
  }
  std::set<std::pair<int, int>> wanted;
  for (const BenchmarkProblem& problem : problems) wanted.insert({problem.level, problem.number});
  std::vector<BenchmarkProblem> picked;
  for (const BenchmarkProblem& problem : modules.problems) {
    if (wanted.contains({problem.level, problem.number})) picked.push_back(problem);
  }
  InspectionLimits limits;
  limits.jobs = jobs;
  const ModuleInspections inspections = TRY(Inspect(picked, limits, {}));
  ModulePairs pairs;
  for (const BenchmarkProblem& problem : picked) {
    pairs.modules.insert_or_assign({problem.level, problem.number},
                                   ModulePairs::Module{problem, inspections.at(Id(problem))});
  }
  return pairs;
}

Result<size_t> TryBindings(const std::filesystem::path& folder, const json& task,
                           const json& options, const DescribeLimits& limits) {
  const TemporaryDirectory place = TRY(TemporaryDirectory::Create("warpsmith-pair"));
  const std::filesystem::path request = place.path() / "request.json";
  const json wanted = {
      {"tensors", task["tensors"]}, {"tolerance", task["tolerance"]}, {"bindings", options}};
  TRY(WriteFileAtomic(request, wanted.dump()));
  const json answer = TRY(ParseJson(
      kPairingSource,
      TRY(RunDescribe({"pair", (folder / "driver.cpp").string(), (folder / "launch.inc").string(),
                       (folder / kModuleFile).string(), request.string()},
                      limits))));
  const JsonReader reader(std::string(kPairingSource), answer);
  if (reader.Has("error")) return BadInput(TRY(reader.At("error").String()));
  const auto last = static_cast<int64_t>(options.size()) - 1;
  return static_cast<size_t>(TRY(reader.At("binding").IntIn(0, last)));
}

Result<std::string> AddPair(const ModulePairs& pairs, const BenchmarkProblem& problem,
                            const DriverDescription& description,
                            const std::filesystem::path& folder, const ChooseBinding& choose,
                            json& task) {
  const Result<const ModulePairs::Module*> module = ModuleOf(pairs, problem);
  const Result<json> options =
      module.ok() ? ChosenOptions(**module, description, folder, choose, task) : module.error();
  const std::string origin = task["origin"].get<std::string>() + "; ";
  if (!options.ok()) {
    std::error_code ignored;
    std::filesystem::remove(folder / kModuleFile, ignored);
    const std::string text = "no torch baseline: " + options.error().message;
    task["origin"] = origin + text;
    return text;
  }
  task["reference"]["sources"].push_back(kModuleFile);
  task["reference"]["options"] = *options;
  task["baselines"] = {"torch-best"};
  task["origin"] = origin + "torch baseline: KernelBench " + Id((*module)->problem) +
                   ", the same extents and outputs";
  return std::string();
}

}  // namespace warpsmith::kernelbench
