#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "report/reproduce/texts.h"

namespace warpsmith::reproduce {
namespace {

using nlohmann::json;

std::string OptionOf(const ReferenceSpec& reference, const std::string& name,
                     const std::string& otherwise) {
  const auto found = reference.options.find(name);
  return found == reference.options.end() ? otherwise : found->second;
}

}  // namespace

Result<std::string> BaselineText(const Subject& subject, const Contenders& contenders) {
  const Task& task = subject.task;
  json inputs = json::array();
  for (const TensorSpec& tensor : task.tensors) {
    if (tensor.role != Role::kInput) continue;
    const auto& sizes = subject.workload.sizes;
    const auto shape = TRY(Extents(tensor, sizes));
    const auto low = TRY(tensor.low.Evaluate(sizes)), high = TRY(tensor.high.Evaluate(sizes));
    inputs.push_back({{"name", tensor.name},
                      {"dtype", Name(tensor.dtype)},
                      {"shape", shape},
                      {"generator", json_fields::Value(tensor.generator)},
                      {"low", low},
                      {"high", high}});
  }
  // A driver's Python is the module that was paired with it.
  const bool is_driver = task.reference.kind != "torch";
  const json document = {
      {"entry", OptionOf(task.reference, is_driver ? "module" : "entry", "reference.py")},
      {"style", is_driver ? "module" : OptionOf(task.reference, "style", "function")},
      {"dtype", OptionOf(task.reference, "dtype", "")},
      {"sizes", subject.workload.sizes},
      {"inputs", inputs},
      {"callees", contenders.callees}};
  return document.dump(1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace warpsmith::reproduce
