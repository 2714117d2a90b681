#include <set>

#include "core/json_fields.h"
#include "core/serialize.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using namespace json_fields;  // NOLINT(google-build-using-namespace): made for these files

constexpr size_t kMaxOperations = 1024;
constexpr size_t kMaxArguments = 1024;
constexpr size_t kMaxTableValues = size_t{1} << 20;

const Expression& Zero() {
  static const auto& zero = *new Expression(Expression::Constant(0));
  return zero;
}
const Expression& One() {
  static const auto& one = *new Expression(Expression::Constant(1));
  return one;
}

// --- Arguments. The key says the kind: {"tensor": "A"}, {"i32": "M"}, {"f32": 0.5}, ...

json ToJson(const TensorArgument& argument) { return {{"tensor", Value(argument.tensor)}}; }
json ToJson(const IntArgument& argument) {
  return {{argument.bytes == 8 ? "i64" : "i32", Value(argument.value)}};
}
json ToJson(const FloatArgument& argument) {
  return {{argument.bytes == 8 ? "f64" : "f32", Value(argument.value)}};
}
json ToJson(const WorkspaceArgument& argument) {
  return {{"workspace", Value(argument.workspace)}};
}
json ToJson(const TableArgument& argument) { return {{"table", argument.values}}; }

json ToJson(const TensorMapArgument& map) {
  json object{{"tensor_map", Value(map.tensor)}, {"dtype", Value(map.dtype)},
              {"dims", Value(map.dims)},         {"strides_bytes", Value(map.strides_bytes)},
              {"box", Value(map.box)},           {"element_strides", Value(map.element_strides)}};
  Put(object, "swizzle", map.swizzle, Swizzle::kNone);
  Put(object, "interleave_bytes", map.interleave_bytes, 0);
  Put(object, "l2_promotion_bytes", map.l2_promotion_bytes, 0);
  Put(object, "fill_nan", map.fill_nan, false);
  return object;
}

Result<Argument> TensorMapFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"tensor_map", "dtype", "dims", "strides_bytes", "box", "element_strides",
                       "swizzle", "interleave_bytes", "l2_promotion_bytes", "fill_nan"}));
  TensorMapArgument map;
  TRY(ReadName(json.At("tensor_map"), map.tensor));
  TRY(Need(json, "dtype", map.dtype));
  TRY(Need(json, "dims", map.dims));
  const size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return json.At("dims").Bad("1 to 5 dimensions");
  TRY(Need(json, "strides_bytes", map.strides_bytes));
  TRY(Need(json, "box", map.box));
  map.element_strides.assign(rank, One());
  TRY(Take(json, "element_strides", map.element_strides));
  if (map.strides_bytes.size() != rank - 1) {
    return json.At("strides_bytes").Bad("one stride fewer than dims");
  }
  if (map.box.size() != rank) return json.At("box").Bad("as many extents as dims");
  if (map.element_strides.size() != rank) {
    return json.At("element_strides").Bad("as many strides as dims");
  }
  TRY(Take(json, "swizzle", map.swizzle));
  TRY(Take(json, "interleave_bytes", map.interleave_bytes));
  TRY(Take(json, "l2_promotion_bytes", map.l2_promotion_bytes));
  TRY(Take(json, "fill_nan", map.fill_nan));
  const auto one_of = [](int value, std::initializer_list<int> known) {
    return std::ranges::find(known, value) != known.end();
  };
  if (!one_of(map.interleave_bytes, {0, 16, 32})) {
    return json.At("interleave_bytes").Bad("0, 16 or 32");
  }
  if (!one_of(map.l2_promotion_bytes, {0, 64, 128, 256})) {
    return json.At("l2_promotion_bytes").Bad("0, 64, 128 or 256");
  }
  return Argument(std::move(map));
}

Result<Argument> TableFrom(const JsonReader& json) {
  TableArgument table;
  for (const JsonReader& item : TRY(ItemsUpTo(json, kMaxTableValues))) {
    constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
    constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
    table.values.push_back(static_cast<int32_t>(TRY(item.IntIn(kLowest, kHighest))));
  }
  if (table.values.empty()) return json.Bad("at least one value");
  return Argument(std::move(table));
}

Result<Argument> ArgumentFrom(const JsonReader& json) {
  if (json.Has("tensor_map")) return TensorMapFrom(json);
  const auto fields = TRY(json.Fields());
  if (fields.size() != 1) return json.Bad("one field, such as {\"tensor\": \"A\"}");
  const auto& [kind, value] = fields.front();
  std::string name;
  if (kind == "tensor") {
    TRY(ReadName(value, name));
    return Argument(TensorArgument{name});
  }
  if (kind == "workspace") {
    TRY(ReadName(value, name));
    return Argument(WorkspaceArgument{name});
  }
  if (kind == "i32") return Argument(IntArgument{TRY(ReadAs<Expression>(value)), 4});
  if (kind == "i64") return Argument(IntArgument{TRY(ReadAs<Expression>(value)), 8});
  if (kind == "f32") return Argument(FloatArgument{TRY(value.Number()), 4});
  if (kind == "f64") return Argument(FloatArgument{TRY(value.Number()), 8});
  if (kind == "table") return TableFrom(value);
  return json.Bad("tensor, i32, i64, f32, f64, workspace, table or tensor_map");
}

// --- Operations. "type" says the kind.

json Triple(const std::array<Expression, 3>& extents) {
  return {Value(extents[0]), Value(extents[1]), Value(extents[2])};
}

Status ReadTriple(const JsonReader& json, std::array<Expression, 3>& extents) {
  const std::vector<JsonReader> items = TRY(json.Items());
  if (items.size() != 3) return json.Bad("three expressions");
  for (size_t i = 0; i < 3; ++i) TRY(Read(items[i], extents[i]));
  return {};
}

json ToJson(const LaunchOperation& launch) {
  json object{{"type", "launch"},
              {"kernel", Value(launch.kernel)},
              {"grid", Triple(launch.grid)},
              {"block", Triple(launch.block)}};
  if (launch.cluster != Ones()) object["cluster"] = Triple(launch.cluster);
  Put(object, "shared_bytes", launch.shared_bytes, Zero());
  Put(object, "cooperative", launch.cooperative, false);
  Put(object, "programmatic", launch.programmatic, false);
  Put(object, "nonportable_cluster", launch.nonportable_cluster, false);
  json& arguments = object["arguments"] = json::array();
  for (const Argument& argument : launch.arguments) {
    arguments.push_back(std::visit([](const auto& kind) { return ToJson(kind); }, argument));
  }
  return object;
}

Result<Operation> LaunchFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"type", "kernel", "grid", "block", "cluster", "shared_bytes", "cooperative",
                       "programmatic", "nonportable_cluster", "arguments"}));
  LaunchOperation launch;
  TRY(ReadName(json.At("kernel"), launch.kernel));
  TRY(ReadTriple(json.At("grid"), launch.grid));
  TRY(ReadTriple(json.At("block"), launch.block));
  if (json.Has("cluster")) TRY(ReadTriple(json.At("cluster"), launch.cluster));
  TRY(Take(json, "shared_bytes", launch.shared_bytes));
  TRY(Take(json, "cooperative", launch.cooperative));
  TRY(Take(json, "programmatic", launch.programmatic));
  TRY(Take(json, "nonportable_cluster", launch.nonportable_cluster));
  for (const JsonReader& item : TRY(ItemsUpTo(json.At("arguments"), kMaxArguments))) {
    launch.arguments.push_back(TRY(ArgumentFrom(item)));
  }
  return Operation(std::move(launch));
}

json ToJson(const MemsetOperation& memset) {
  return {{"type", "memset"},
          {"target", Value(memset.target)},
          {"value", memset.value},
          {"bytes", Value(memset.bytes)}};
}

Result<Operation> MemsetFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"type", "target", "value", "bytes"}));
  MemsetOperation memset;
  TRY(ReadName(json.At("target"), memset.target));
  if (json.Has("value")) memset.value = static_cast<uint8_t>(TRY(json.At("value").IntIn(0, 255)));
  TRY(Need(json, "bytes", memset.bytes));
  return Operation(std::move(memset));
}

json ToJson(const CopyOperation& copy) {
  return {{"type", "copy"},
          {"target", Value(copy.target)},
          {"source", Value(copy.source)},
          {"bytes", Value(copy.bytes)}};
}

Result<Operation> CopyFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"type", "target", "source", "bytes"}));
  CopyOperation copy;
  TRY(ReadName(json.At("target"), copy.target));
  TRY(ReadName(json.At("source"), copy.source));
  TRY(Need(json, "bytes", copy.bytes));
  return Operation(std::move(copy));
}

json ToJson(const PadOperation& pad) {
  return {{"type", "pad"},
          {"target", Value(pad.target)},
          {"source", Value(pad.source)},
          {"rows", Value(pad.rows)},
          {"width_bytes", Value(pad.width_bytes)},
          {"source_pitch_bytes", Value(pad.source_pitch_bytes)},
          {"target_rows", Value(pad.target_rows)},
          {"target_pitch_bytes", Value(pad.target_pitch_bytes)}};
}

Result<Operation> PadFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"type", "target", "source", "rows", "width_bytes", "source_pitch_bytes",
                       "target_rows", "target_pitch_bytes"}));
  PadOperation pad;
  TRY(ReadName(json.At("target"), pad.target));
  TRY(ReadName(json.At("source"), pad.source));
  TRY(Need(json, "rows", pad.rows));
  TRY(Need(json, "width_bytes", pad.width_bytes));
  TRY(Need(json, "source_pitch_bytes", pad.source_pitch_bytes));
  TRY(Need(json, "target_rows", pad.target_rows));
  TRY(Need(json, "target_pitch_bytes", pad.target_pitch_bytes));
  return Operation(std::move(pad));
}

Result<Operation> OperationFrom(const JsonReader& json) {
  const std::string type = TRY(json.At("type").String());
  if (type == "launch") return LaunchFrom(json);
  if (type == "memset") return MemsetFrom(json);
  if (type == "copy") return CopyFrom(json);
  if (type == "pad") return PadFrom(json);
  return json.At("type").Bad("launch, memset, copy or pad");
}

json ToJson(const Workspace& workspace) {
  json object{{"name", Value(workspace.name)}, {"bytes", Value(workspace.bytes)}};
  Put(object, "zero", workspace.zero, false);
  return object;
}

Result<Workspace> WorkspaceFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "bytes", "zero"}));
  Workspace workspace;
  TRY(ReadName(json.At("name"), workspace.name));
  TRY(Need(json, "bytes", workspace.bytes));
  TRY(Take(json, "zero", workspace.zero));
  return workspace;
}

}  // namespace

json ToJson(const LaunchPlan& plan) {
  json object{{"version", kLaunchPlanVersion}};
  Put(object, "valid_when", plan.valid_when, One());
  for (const Workspace& workspace : plan.workspaces) {
    object["workspaces"].push_back(ToJson(workspace));
  }
  json& operations = object["operations"] = json::array();
  for (const Operation& operation : plan.operations) {
    operations.push_back(std::visit([](const auto& kind) { return ToJson(kind); }, operation));
  }
  return object;
}

Result<LaunchPlan> LaunchPlanFrom(const JsonReader& json) {
  TRY(NeedVersion(json, kLaunchPlanVersion, "a launch plan"));
  TRY(json.OnlyFields({"version", "valid_when", "workspaces", "operations"}));
  LaunchPlan plan;
  TRY(Take(json, "valid_when", plan.valid_when));
  if (json.Has("workspaces")) {
    TRY(ReadList<Workspace>(json.At("workspaces"), plan.workspaces, WorkspaceFrom));
  }
  for (const JsonReader& item : TRY(ItemsUpTo(json.At("operations"), kMaxOperations))) {
    plan.operations.push_back(TRY(OperationFrom(item)));
  }
  return plan;
}

}  // namespace warpsmith
