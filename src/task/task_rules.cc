#include "task/task_rules.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/program_shim.h"

namespace warpsmith::task {
namespace {

constexpr std::string_view kReferenceKinds[] = {"gemm", "cuda", "torch", "driver"};
constexpr std::string_view kPrecisions[] = {"f64", "f32", "tf32", "bf16", "f16", "f8"};
constexpr std::string_view kOutputTypes[] = {"f64", "f32", "bf16", "f16"};
constexpr std::string_view kTorchBaselines[] = {"torch-eager", "torch-compile", "torch-best"};

template <size_t n>
bool OneOf(std::string_view value, const std::string_view (&known)[n]) {
  return std::find(std::begin(known), std::end(known), value) != std::end(known);
}

struct Complaint {
  const std::string& source;
  Error operator()(const std::string& field, const std::string& what,
                   const std::string& fix) const {
    return {ErrorCode::kBadInput, source + ": " + field + ": " + what, fix};
  }
};

bool Has(const Task& task, Form form) {
  return std::find(task.forms.begin(), task.forms.end(), form) != task.forms.end();
}

std::string Option(const ReferenceSpec& reference, const std::string& name) {
  const auto found = reference.options.find(name);
  return found == reference.options.end() ? "" : found->second;
}

Status CheckSources(const Complaint& complain, const ReferenceSpec& reference) {
  if (reference.sources.empty()) {
    return complain("reference.source",
                    "missing, and a reference of kind " + reference.kind + " is made of it",
                    "name the file, as in: source = \"reference." +
                        std::string(reference.kind == "torch" ? "py" : "cu") + "\"");
  }
  const std::string entry = Option(reference, "entry");
  if (reference.sources.contains(entry)) return {};
  return complain("reference.entry", entry.empty() ? "missing" : "'" + entry + "' is no source",
                  "name the one of reference.sources that is run");
}

Status CheckCudaReference(const Complaint& complain, const ReferenceSpec& reference) {
  if (reference.plan && !reference.plan->operations.empty()) return {};
  return complain("reference.plan", "missing, so nothing says how the reference is launched",
                  "add [[reference.plan.operations]] with kernel, grid, block and arguments");
}

Status CheckTorchReference(const Complaint& complain, const ReferenceSpec& reference) {
  const std::string style = Option(reference, "style");
  if (style == "function" || style == "module") return {};
  return complain("reference.style", style.empty() ? "missing" : "'" + style + "' is unknown",
                  "write style = \"function\" (def reference(...)) or \"module\" (class Model)");
}

Status CheckReference(const Complaint& complain, const ReferenceSpec& reference) {
  if (!OneOf(reference.kind, kReferenceKinds)) {
    return complain("reference.kind", "'" + reference.kind + "' is unknown",
                    "use one of " + Joined(kReferenceKinds));
  }
  const std::string outputs = Option(reference, "outputs");
  if (!outputs.empty() && !OneOf(outputs, kOutputTypes)) {
    return complain("reference.outputs", "'" + outputs + "' is no floating-point type",
                    "use one of " + Joined(kOutputTypes));
  }
  if (reference.kind == "gemm") return {};
  TRY(CheckSources(complain, reference));
  if (reference.kind == "cuda") return CheckCudaReference(complain, reference);
  if (reference.kind == "torch") return CheckTorchReference(complain, reference);
  return {};
}

Status CheckForms(const Complaint& complain, const Task& task) {
  if (task.forms.empty()) {
    return complain("forms", "empty, so no candidate is taken", "write forms = [\"kernel\"]");
  }
  if (Has(task, Form::kProgram) && !task.program) {
    return complain("forms", "has program, and nothing says how programs are called",
                    "add [program] with declaration and arguments");
  }
  return {};
}

Status CheckRivals(const Complaint& complain, const Task& task) {
  std::set<std::string> names;
  for (const Rival& rival : task.rivals) {
    const std::string field = "rivals." + rival.name;
    if (IsBuiltInBaseline(rival.name) || rival.name == "candidate") {
      return complain(field, "the name has a meaning already", "give the rival another name");
    }
    if (!names.insert(rival.name).second) {
      return complain(field, "there twice", "give each rival a name of its own");
    }
    if (rival.candidate.form == Form::kProgram && !task.program) {
      return complain(field, "a program, and nothing says how programs are called",
                      "add [program] with declaration and arguments");
    }
  }
  return {};
}

bool IsLibraryName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Status CheckPolicies(const Complaint& complain, const Task& task) {
  if (!task.precision.empty() && !OneOf(task.precision, kPrecisions)) {
    return complain("precision", "'" + task.precision + "' is unknown",
                    "use one of " + Joined(kPrecisions) + ", or leave it out");
  }
  for (const std::string& library : task.allow) {
    if (IsLibraryName(library)) continue;
    return complain("allow", "'" + library + "' is no library's name",
                    "write names such as \"cublas\" or \"cudnn\"");
  }
  return {};
}

Status CheckShapes(const Complaint& complain, const Task& task) {
  for (const Workload& workload : task.workloads) {
    for (const TensorSpec& tensor : task.tensors) {
      const Result<int64_t> bytes = TensorBytes(tensor, workload.sizes);
      if (bytes.ok()) continue;
      return complain("workload '" + workload.name + "'", bytes.error().message,
                      "give the workload sizes that make every extent at least 1");
    }
  }
  return {};
}

Status CheckTensors(const Complaint& complain, const Task& task) {
  const auto is_output = [](const TensorSpec& tensor) { return tensor.role == Role::kOutput; };
  if (std::any_of(task.tensors.begin(), task.tensors.end(), is_output)) return {};
  return complain("tensors", "no output, so there is nothing to judge",
                  "give one of them role = \"output\"");
}

}  // namespace

bool IsBuiltInBaseline(std::string_view name) {
  return OneOf(name, kTorchBaselines) || name.starts_with("cublas");
}

Status CheckRules(const std::string& source, const Task& task) {
  const Complaint complain{source};
  TRY(CheckTensors(complain, task));
  TRY(CheckReference(complain, task.reference));
  TRY(CheckForms(complain, task));
  if (const Status entry = CheckProgramEntry(task); !entry.ok()) {
    return Error{entry.error().code, source + ": " + entry.error().message, entry.error().fix};
  }
  TRY(CheckRivals(complain, task));
  TRY(CheckPolicies(complain, task));
  return CheckShapes(complain, task);
}

}  // namespace warpsmith::task
