#include "task/kernelbench/binding.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/utf8.h"
#include "task/kernelbench/task_document.h"

namespace warpsmith::kernelbench {
namespace {

std::vector<int64_t> WithoutOnes(std::vector<int64_t> shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

bool IsCount(const TensorRow& row) { return row.dtype == DType::kI64 && row.shape.empty(); }

bool SameShape(const TensorRow& a, const TensorRow& b) { return a.shape == b.shape; }

bool SameExtents(const TensorRow& a, const TensorRow& b) {
  return WithoutOnes(a.shape) == WithoutOnes(b.shape);
}

std::string Text(const TensorRow& row) {
  std::string text;
  for (const int64_t extent : row.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return row.name + " (" + text + ")";
}

// How alike two names are: equal, one ending in the other, ending in the same word, or not.
int Likeness(const std::string& ours, const std::string& theirs) {
  const std::string a = AsciiLower(Identifier(ours)), b = AsciiLower(Identifier(theirs));
  if (a == b) return 3;
  if (a.ends_with(b) || b.ends_with(a)) return 2;
  return a.substr(a.rfind('_') + 1) == b.substr(b.rfind('_') + 1) ? 1 : 0;
}

// What the driver has to have a tensor for.
struct Wanted {
  TensorRow row;
  bool is_input = false;
};

std::vector<Wanted> WantedOf(const ModuleInspection& module) {
  std::vector<Wanted> wanted;
  for (const InputRow& input : module.inputs) {
    if (input.IsTensor()) wanted.push_back({input.tensor, true});
  }
  for (const TensorRow& parameter : module.parameters) {
    if (!IsCount(parameter)) wanted.push_back({parameter, false});
  }
  return wanted;
}

using Places = std::vector<std::optional<size_t>>;  // of the driver's tensor, a wanted one each

// Binds what is not yet bound and fits, the most alike first; of equals the first.
void Take(const std::vector<Wanted>& wanted, const DriverDescription& driver,
          bool (*fits)(const TensorRow&, const TensorRow&),
          int (*likeness)(const std::string&, const std::string&), Places& places) {
  struct Choice {
    int likeness;
    size_t wanted, tensor;
  };
  std::vector<Choice> choices;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t k = 0; k < driver.tensors.size(); ++k) {
      const DriverTensor& tensor = driver.tensors[k];
      if (tensor.is_output || !fits(wanted[i].row, tensor.row)) continue;
      choices.push_back({likeness(wanted[i].row.name, tensor.row.name), i, k});
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.likeness > b.likeness; });
  for (const Choice& choice : choices) {
    const bool is_taken =
        std::find(places.begin(), places.end(), std::optional(choice.tensor)) != places.end();
    if (!is_taken && !places[choice.wanted]) places[choice.wanted] = choice.tensor;
  }
}

// Two tensors that differ in extents of 1 only, such as biases [16] and [16, 1, 1], are told apart
// by them; a driver that leaves them out has what then remains.
Places PlacesOf(const std::vector<Wanted>& wanted, const DriverDescription& driver,
                int (*likeness)(const std::string&, const std::string&)) {
  Places places(wanted.size());
  Take(wanted, driver, SameShape, likeness, places);
  Take(wanted, driver, SameExtents, likeness, places);
  return places;
}

int NoLikeness(const std::string&, const std::string&) { return 0; }

// Every other way to give wanted tensors of one shape what they have together; none where there are
// more than can be tried.
std::vector<Places> Exchanged(const std::vector<Wanted>& wanted, const Places& places) {
  constexpr size_t kMost = 24;
  std::map<std::vector<int64_t>, std::vector<size_t>> alike;
  for (size_t i = 0; i < wanted.size(); ++i) alike[wanted[i].row.shape].push_back(i);
  std::vector<Places> all = {places};
  for (const auto& [shape, members] : alike) {
    std::vector<size_t> order(members.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const std::vector<Places> before = all;
    while (std::next_permutation(order.begin(), order.end())) {
      if (all.size() + before.size() > kMost) return {};
      for (Places other : before) {
        for (size_t i = 0; i < order.size(); ++i) other[members[i]] = places[members[order[i]]];
        all.push_back(std::move(other));
      }
    }
  }
  return all;
}

Result<Binding> BindingOf(const std::vector<Wanted>& wanted, const DriverDescription& driver,
                          const Places& places) {
  Binding binding;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto& [row, is_input] = wanted[i];
    if (!places[i]) {
      return BadInput((is_input ? "input " : "parameter ") + Text(row) +
                      " has no equal in the driver");
    }
    if (is_input) {
      binding.inputs.push_back(*places[i]);
    } else {
      binding.parameters.emplace_back(row.name, *places[i]);
    }
  }
  for (size_t i = 0; i < driver.tensors.size(); ++i) {
    const bool is_taken = std::find(places.begin(), places.end(), std::optional(i)) != places.end();
    if (driver.tensors[i].is_output || is_taken) continue;
    return BadInput("the driver's " + Text(driver.tensors[i].row) + " has no equal in the module");
  }
  return binding;
}

Status CheckOutputs(const ModuleInspection& module, const DriverDescription& driver) {
  std::vector<TensorRow> outputs;
  for (const DriverTensor& tensor : driver.tensors) {
    if (tensor.is_output) outputs.push_back(tensor.row);
  }
  if (outputs.size() != module.outputs.size()) return BadInput("it has another number of outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (SameExtents(outputs[i], module.outputs[i])) continue;
    return BadInput("the output is " + Text(module.outputs[i]) + " there, " + Text(outputs[i]) +
                    " here");
  }
  return {};
}

}  // namespace

Result<std::vector<Binding>> Bindings(const ModuleInspection& module,
                                      const DriverDescription& driver) {
  TRY(CheckOutputs(module, driver));
  const std::vector<Wanted> wanted = WantedOf(module);
  const Places by_name = PlacesOf(wanted, driver, Likeness);
  std::vector<Binding> bindings = {TRY(BindingOf(wanted, driver, by_name))};
  std::vector<Places> others = Exchanged(wanted, by_name);
  others.insert(others.begin(), PlacesOf(wanted, driver, NoLikeness));
  for (const Places& places : others) {
    const Binding binding = TRY(BindingOf(wanted, driver, places));
    if (std::find(bindings.begin(), bindings.end(), binding) == bindings.end()) {
      bindings.push_back(binding);
    }
  }
  return bindings;
}

}  // namespace warpsmith::kernelbench
