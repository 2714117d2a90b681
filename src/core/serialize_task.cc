#include <cmath>
#include <set>

#include "core/json_fields.h"
#include "core/serialize.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using namespace json_fields;  // NOLINT(google-build-using-namespace): made for these files

constexpr int kTaskVersion = 1;

json ToJson(const TensorSpec& tensor) {
  json object{{"name", Value(tensor.name)},
              {"dtype", Value(tensor.dtype)},
              {"role", Value(tensor.role)},
              {"shape", Value(tensor.shape)}};
  Put(object, "generator", tensor.generator, Generator::kNormal);
  Put(object, "low", tensor.low, Expression::Constant(0));
  Put(object, "high", tensor.high, Expression::Constant(0));
  return object;
}

Result<TensorSpec> TensorFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "dtype", "role", "shape", "generator", "low", "high"}));
  TensorSpec tensor;
  TRY(ReadName(json.At("name"), tensor.name));
  TRY(Need(json, "dtype", tensor.dtype));
  TRY(Need(json, "role", tensor.role));
  TRY(Need(json, "shape", tensor.shape));
  if (tensor.shape.size() > 8) return json.At("shape").Bad("at most 8 extents");
  TRY(Take(json, "generator", tensor.generator));
  TRY(Take(json, "low", tensor.low));
  TRY(Take(json, "high", tensor.high));
  return tensor;
}

json ToJson(const ReferenceSpec& reference) {
  json object{{"kind", Value(reference.kind)}};
  Put(object, "options", reference.options, {});
  Put(object, "sources", reference.sources, {});
  if (reference.plan) object["plan"] = ToJson(*reference.plan);
  return object;
}

Result<ReferenceSpec> ReferenceFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"kind", "options", "sources", "plan"}));
  ReferenceSpec reference;
  TRY(Need(json, "kind", reference.kind));
  TRY(Take(json, "options", reference.options));
  TRY(Take(json, "sources", reference.sources));
  if (json.Has("plan")) reference.plan = TRY(LaunchPlanFrom(json.At("plan")));
  return reference;
}

json ToJson(const ProgramEntry& entry) {
  return {{"declaration", Value(entry.declaration)}, {"arguments", Value(entry.arguments)}};
}

Result<ProgramEntry> ProgramEntryFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"declaration", "arguments"}));
  ProgramEntry entry;
  TRY(ReadName(json.At("declaration"), entry.declaration));
  TRY(Need(json, "arguments", entry.arguments));
  return entry;
}

Result<Rival> RivalFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "candidate"}));
  Rival rival;
  TRY(ReadName(json.At("name"), rival.name));
  rival.candidate = TRY(CandidateFrom(json.At("candidate")));
  return rival;
}

json ToJson(const Tolerance& tolerance) {
  json object = json::object();
  Put(object, "reduction_length", tolerance.reduction_length);
  Put(object, "accumulate", tolerance.accumulate, DType::kF32);
  Put(object, "absolute", tolerance.absolute, 0.0);
  Put(object, "relative", tolerance.relative, 0.0);
  Put(object, "reason", tolerance.reason, {});
  return object;
}

Result<Tolerance> ToleranceFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"reduction_length", "accumulate", "absolute", "relative", "reason"}));
  Tolerance tolerance;
  TRY(Take(json, "reduction_length", tolerance.reduction_length));
  TRY(Take(json, "accumulate", tolerance.accumulate));
  TRY(Take(json, "absolute", tolerance.absolute));
  TRY(Take(json, "relative", tolerance.relative));
  TRY(Take(json, "reason", tolerance.reason));
  if (!(tolerance.absolute >= 0) || !(tolerance.relative >= 0)) {
    return json.Bad("absolute and relative bounds that are not negative");
  }
  const bool given = tolerance.absolute > 0 || tolerance.relative > 0;
  if (given && tolerance.reduction_length) {
    return json.Bad("either reduction_length or absolute and relative, not both");
  }
  if (given && tolerance.reason.empty()) {
    return json.At("reason").Bad("why the given bounds are right, as the report will print it");
  }
  return tolerance;
}

Status CheckDistinct(const JsonReader& json, const std::vector<TensorSpec>& tensors) {
  std::set<std::string> names;
  for (const TensorSpec& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return json.Bad("distinct names (\"" + tensor.name + "\" is there twice)");
    }
  }
  return {};
}

}  // namespace

json ToJson(const Workload& workload) {
  json object{{"name", Value(workload.name)}, {"sizes", Value(workload.sizes)}};
  Put(object, "weight", workload.weight, 1.0);
  Put(object, "hidden", workload.hidden, false);
  return object;
}

Result<Workload> WorkloadFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "sizes", "weight", "hidden"}));
  Workload workload;
  TRY(Need(json, "name", workload.name));
  TRY(Need(json, "sizes", workload.sizes));
  for (const auto& [name, value] : workload.sizes) {
    if (name == "sm_count" || name == "max_active_clusters") {
      return json.At("sizes").At(name).Bad("another name: this one is the device's");
    }
    if (value < 0) return json.At("sizes").At(name).Bad("a size from 0");
  }
  TRY(Take(json, "weight", workload.weight));
  if (!(workload.weight > 0) || std::isinf(workload.weight)) {
    return json.At("weight").Bad("a number above 0");
  }
  TRY(Take(json, "hidden", workload.hidden));
  return workload;
}

json ToJson(const Task& task) {
  json object{{"version", kTaskVersion},
              {"name", Value(task.name)},
              {"reference", ToJson(task.reference)},
              {"tolerance", ToJson(task.tolerance)}};
  for (const TensorSpec& tensor : task.tensors) object["tensors"].push_back(ToJson(tensor));
  for (const Workload& workload : task.workloads) object["workloads"].push_back(ToJson(workload));
  Put(object, "baselines", task.baselines);
  if (task.forms != std::vector{Form::kKernel}) object["forms"] = Value(task.forms);
  if (task.program) object["program"] = ToJson(*task.program);
  for (const Rival& rival : task.rivals) {
    object["rivals"].push_back(
        {{"name", Value(rival.name)}, {"candidate", ToJson(rival.candidate)}});
  }
  Put(object, "allow", task.allow);
  Put(object, "precision", task.precision, {});
  Put(object, "origin", task.origin, {});
  Put(object, "headline", task.headline, true);
  Put(object, "flops", task.flops, Expression::Constant(0));
  return object;
}

Result<Task> TaskFrom(const JsonReader& json) {
  TRY(NeedVersion(json, kTaskVersion, "a task"));
  TRY(json.OnlyFields({"version", "name", "tensors", "reference", "tolerance", "workloads",
                       "baselines", "forms", "flops", "program", "rivals", "allow", "precision",
                       "origin", "headline"}));
  Task task;
  TRY(Need(json, "name", task.name));
  if (json.Has("tensors")) {
    TRY(ReadList<TensorSpec>(json.At("tensors"), task.tensors, TensorFrom));
    TRY(CheckDistinct(json.At("tensors"), task.tensors));
  }
  task.reference = TRY(ReferenceFrom(json.At("reference")));
  task.tolerance = TRY(ToleranceFrom(json.At("tolerance")));
  if (json.Has("workloads")) {
    TRY(ReadList<Workload>(json.At("workloads"), task.workloads, WorkloadFrom));
  }
  TRY(Take(json, "baselines", task.baselines));
  TRY(Take(json, "forms", task.forms));
  if (json.Has("program")) task.program = TRY(ProgramEntryFrom(json.At("program")));
  if (json.Has("rivals")) TRY(ReadList<Rival>(json.At("rivals"), task.rivals, RivalFrom));
  TRY(Take(json, "allow", task.allow));
  TRY(Take(json, "precision", task.precision));
  TRY(Take(json, "origin", task.origin));
  TRY(Take(json, "headline", task.headline));
  TRY(Take(json, "flops", task.flops));
  return task;
}

}  // namespace warpsmith
