#include "core/json_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"

namespace warpsmith::json_fields {
namespace {

constexpr std::array<Named<DType>, 8> kDTypes = {{{DType::kF16, "f16"},
                                                  {DType::kBF16, "bf16"},
                                                  {DType::kF32, "f32"},
                                                  {DType::kF64, "f64"},
                                                  {DType::kI8, "i8"},
                                                  {DType::kI32, "i32"},
                                                  {DType::kI64, "i64"},
                                                  {DType::kBool, "bool"}}};
constexpr std::array<Named<Role>, 2> kRoles = {
    {{Role::kInput, "input"}, {Role::kOutput, "output"}}};
constexpr std::array<Named<Generator>, 6> kGenerators = {{{Generator::kNormal, "normal"},
                                                          {Generator::kUniform, "uniform"},
                                                          {Generator::kUnit, "unit"},
                                                          {Generator::kIntegers, "integers"},
                                                          {Generator::kOffsets, "offsets"},
                                                          {Generator::kReference, "reference"}}};
constexpr std::array<Named<Form>, 2> kForms = {
    {{Form::kKernel, Name(Form::kKernel)}, {Form::kProgram, Name(Form::kProgram)}}};
constexpr std::array<Named<Swizzle>, 4> kSwizzles = {{{Swizzle::kNone, "none"},
                                                      {Swizzle::k32B, "32B"},
                                                      {Swizzle::k64B, "64B"},
                                                      {Swizzle::k128B, "128B"}}};
constexpr std::array<Named<Mode>, 5> kModes = {{{Mode::kDeviceHot, "device"},
                                                {Mode::kDeviceCold, "device-cold"},
                                                {Mode::kOffline, "offline"},
                                                {Mode::kServer, "server"},
                                                {Mode::kWall, "wall"}}};
constexpr std::array<Named<AuditStatus>, 2> kAuditStatuses = {
    {{AuditStatus::kClean, "clean"}, {AuditStatus::kAbsent, "absent"}}};
constexpr std::array<Named<Level>, 2> kLevels = {
    {{Level::kScreened, "screened"}, {Level::kCertified, "certified"}}};
constexpr std::array<Named<Finding>, 4> kFindings = {{{Finding::kFaster, "faster"},
                                                      {Finding::kSlower, "slower"},
                                                      {Finding::kSame, "same"},
                                                      {Finding::kNotShown, "not-shown"}}};

template <typename Map>
nlohmann::json ObjectOf(const Map& map) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, value] : map) object[ValidUtf8(key)] = Value(value);
  return object;
}

template <typename Map>
Status ReadMap(const JsonReader& json, Map& map, int64_t lowest) {
  map.clear();
  for (const auto& [key, value] : TRY(json.Fields())) {
    if (map.size() == kMaxItems) return json.Bad("at most 65,536 fields");
    map[key] = TRY(value.IntIn(lowest, std::numeric_limits<int64_t>::max()));
  }
  return {};
}

}  // namespace

template <>
std::span<const Named<DType>> Names() {
  return kDTypes;
}
template <>
std::span<const Named<Role>> Names() {
  return kRoles;
}
template <>
std::span<const Named<Generator>> Names() {
  return kGenerators;
}
template <>
std::span<const Named<Form>> Names() {
  return kForms;
}
template <>
std::span<const Named<Swizzle>> Names() {
  return kSwizzles;
}
template <>
std::span<const Named<Mode>> Names() {
  return kModes;
}
template <>
std::span<const Named<Level>> Names() {
  return kLevels;
}
template <>
std::span<const Named<AuditStatus>> Names() {
  return kAuditStatuses;
}
template <>
std::span<const Named<Finding>> Names() {
  return kFindings;
}

nlohmann::json Value(bool value) { return value; }
nlohmann::json Value(int value) { return value; }
nlohmann::json Value(int64_t value) { return value; }
nlohmann::json Value(double value) { return NumberToJson(value); }

nlohmann::json Value(float value) {
  if (!std::isfinite(value)) return NumberToJson(value);
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double wide = 0;
  std::from_chars(text.data(), written.ptr, wide);
  return static_cast<float>(wide) == value ? wide : static_cast<double>(value);
}

nlohmann::json Value(const std::string& text) {
  return IsUtf8(text) ? nlohmann::json(text) : nlohmann::json(ValidUtf8(text));
}

nlohmann::json Value(const Expression& expression) {
  const std::string& text = expression.text();
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end && std::to_string(value) == text) return value;
  return text;
}

nlohmann::json Value(const Interval& interval) {
  return nlohmann::json::array({NumberToJson(interval.lo), NumberToJson(interval.hi)});
}

nlohmann::json Value(const std::map<std::string, int64_t, std::less<>>& values) {
  return ObjectOf(values);
}
nlohmann::json Value(const std::map<std::string, int64_t>& values) { return ObjectOf(values); }
nlohmann::json Value(const std::map<std::string, std::string>& texts) { return ObjectOf(texts); }

nlohmann::json Value(const std::pair<std::string, double>& named) {
  return nlohmann::json::array({Value(named.first), Value(named.second)});
}

nlohmann::json Value(const std::array<Expression, 3>& extents) {
  return nlohmann::json::array({Value(extents[0]), Value(extents[1]), Value(extents[2])});
}

Status Read(const JsonReader& json, bool& value) {
  value = TRY(json.Bool());
  return {};
}

Status Read(const JsonReader& json, uint8_t& value) {
  value = static_cast<uint8_t>(TRY(json.IntIn(0, std::numeric_limits<uint8_t>::max())));
  return {};
}

Status Read(const JsonReader& json, uint16_t& value) {
  value = static_cast<uint16_t>(TRY(json.IntIn(0, std::numeric_limits<uint16_t>::max())));
  return {};
}

Status Read(const JsonReader& json, int& value) {
  value = static_cast<int>(TRY(json.IntIn(0, std::numeric_limits<int>::max())));
  return {};
}

Status Read(const JsonReader& json, int64_t& value) {
  value = TRY(json.IntIn(0, std::numeric_limits<int64_t>::max()));
  return {};
}

Status Read(const JsonReader& json, float& value) {
  const double wide = TRY(json.Number());
  value = static_cast<float>(wide);
  if (std::isfinite(wide) && std::isinf(value)) {
    return json.Bad("a number that a 32-bit float holds");
  }
  return {};
}

Status Read(const JsonReader& json, double& value) {
  value = TRY(json.Number());
  return {};
}

Status Read(const JsonReader& json, std::string& text) {
  text = TRY(json.String());
  if (text.size() > kMaxTextBytes) return json.Bad("a text of at most 64 MiB");
  return {};
}

Status ReadName(const JsonReader& json, std::string& name) {
  name = TRY(json.String());
  if (name.empty() || name.size() > kMaxNameBytes) return json.Bad("a name of 1 to 1,024 bytes");
  return {};
}

Status Read(const JsonReader& json, Expression& expression) {
  const nlohmann::json* found = json.json();
  if (found != nullptr && found->is_number_integer()) {
    expression = Expression::Constant(TRY(json.Int()));
    return {};
  }
  if (found == nullptr || !found->is_string()) return json.Bad("an expression or an integer");
  Result<Expression> parsed = Expression::Parse(found->get_ref<const std::string&>());
  if (!parsed.ok()) return json.Bad("an expression (" + parsed.error().message + ")");
  expression = std::move(parsed).value();
  return {};
}

Status Read(const JsonReader& json, Interval& interval) {
  const std::vector<JsonReader> ends = TRY(json.Items());
  if (ends.size() != 2) return json.Bad("two numbers");
  TRY(Read(ends[0], interval.lo));
  return Read(ends[1], interval.hi);
}

Status Read(const JsonReader& json, std::vector<double>& numbers) {
  const nlohmann::json* array = json.json();
  if (array == nullptr || !array->is_array()) return json.Bad("an array of numbers");
  if (array->size() > kMaxItems) return json.Bad("at most 65,536 numbers");
  numbers.resize(array->size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const nlohmann::json& item = (*array)[i];
    numbers[i] = item.is_number() ? item.get<double>() : TRY(json.At(i).Number());
  }
  return {};
}

Status Read(const JsonReader& json, std::map<std::string, int64_t, std::less<>>& values) {
  return ReadMap(json, values, std::numeric_limits<int64_t>::min());
}

Status Read(const JsonReader& json, std::map<std::string, int64_t>& counts) {
  return ReadMap(json, counts, 0);
}

Status Read(const JsonReader& json, std::map<std::string, std::string>& texts) {
  texts.clear();
  for (const auto& [key, value] : TRY(json.Fields())) {
    if (texts.size() == kMaxItems) return json.Bad("at most 65,536 fields");
    TRY(Read(value, texts[key]));
  }
  return {};
}

Status Read(const JsonReader& json, std::pair<std::string, double>& named) {
  const std::vector<JsonReader> pair = TRY(json.Items());
  if (pair.size() != 2) return json.Bad("a name and a number");
  TRY(Read(pair[0], named.first));
  return Read(pair[1], named.second);
}

Status Read(const JsonReader& json, std::array<Expression, 3>& extents) {
  const std::vector<JsonReader> items = TRY(json.Items());
  if (items.size() != 3) return json.Bad("three expressions");
  for (size_t i = 0; i < 3; ++i) TRY(Read(items[i], extents[i]));
  return {};
}

Result<std::vector<JsonReader>> ItemsUpTo(const JsonReader& json, size_t most) {
  if (json.json() != nullptr && json.json()->is_array() && json.json()->size() > most) {
    return json.Bad("at most " + std::to_string(most) + " items");
  }
  return json.Items();
}

std::string OneOf(std::initializer_list<std::string_view> names) {
  std::string list;
  for (const auto* name = names.begin(); name != names.end(); ++name) {
    if (name != names.begin()) list += name + 1 == names.end() ? " or " : ", ";
    list += *name;
  }
  return list;
}

Status NeedVersion(const JsonReader& json, Format format) {
  const int64_t found = TRY(json.At("version").Int());
  if (found == format.version) return {};
  const std::string reads = "version " + std::to_string(format.version) + " of " +
                            std::string(format.what) + " (the only one that this program reads)";
  return Error{ErrorCode::kVersion, json.At("version").Bad(reads).message,
               "use the warpsmith that wrote it, or write it anew"};
}

// --- Arguments. The key says the kind: {"tensor": "A"}, {"i32": "M"}, {"f32": 0.5}, ...

namespace {

constexpr size_t kMaxTableValues = size_t{1} << 20;

nlohmann::json ArgumentJson(const TensorArgument& argument) {
  return {{"tensor", Value(argument.tensor)}};
}
nlohmann::json ArgumentJson(const IntArgument& argument) {
  return {{argument.bytes == 8 ? "i64" : "i32", Value(argument.value)}};
}
nlohmann::json ArgumentJson(const FloatArgument& argument) {
  return {{argument.bytes == 8 ? "f64" : "f32", Value(argument.value)}};
}
nlohmann::json ArgumentJson(const WorkspaceArgument& argument) {
  return {{"workspace", Value(argument.workspace)}};
}
nlohmann::json ArgumentJson(const TableArgument& argument) { return {{"table", argument.values}}; }
nlohmann::json ArgumentJson(const TensorMapArgument& argument) { return Value(argument); }

Result<TableArgument> TableFrom(const JsonReader& json) {
  TableArgument table;
  for (const JsonReader& item : TRY(ItemsUpTo(json, kMaxTableValues))) {
    constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
    constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
    table.values.push_back(static_cast<int32_t>(TRY(item.IntIn(kLowest, kHighest))));
  }
  if (table.values.empty()) return json.Bad("at least one value");
  return table;
}

}  // namespace

nlohmann::json Value(const Argument& argument) {
  return std::visit([](const auto& kind) { return ArgumentJson(kind); }, argument);
}

Status Read(const JsonReader& json, Argument& argument) {
  if (json.Has("tensor_map")) return Read(json, argument.emplace<TensorMapArgument>());
  const auto fields = TRY(json.Fields());
  if (fields.size() != 1) return json.Bad("one field, such as {\"tensor\": \"A\"}");
  const auto& [kind, value] = fields.front();
  if (kind == "tensor") return ReadName(value, argument.emplace<TensorArgument>().tensor);
  if (kind == "workspace") return ReadName(value, argument.emplace<WorkspaceArgument>().workspace);
  if (kind == "i32" || kind == "i64") {
    argument = IntArgument{TRY(ReadAs<Expression>(value)), kind == "i64" ? 8 : 4};
  } else if (kind == "f32" || kind == "f64") {
    argument = FloatArgument{TRY(value.Number()), kind == "f64" ? 8 : 4};
  } else if (kind == "table") {
    argument = TRY(TableFrom(value));
  } else {
    return json.Bad("tensor, i32, i64, f32, f64, workspace, table or tensor_map");
  }
  return {};
}

// --- Samples are the bulk of a verdict, so they are written as columns; one of zeros only (never
// read) is left out.

namespace {

template <typename Visit>
void ForEachColumn(const Visit& visit) {
  visit("us", &Sample::us);
  visit("process", &Sample::process);
  visit("round", &Sample::round);
  visit("mhz", &Sample::sm_mhz);
  visit("c", &Sample::temperature_c);
  visit("w", &Sample::power_w);
}

// The common case of a number, without a JsonReader to name its place.
bool ReadNumber(const nlohmann::json& item, float& value) {
  if (!item.is_number_float()) return false;
  value = static_cast<float>(item.get<double>());
  return std::isfinite(value);
}
bool ReadNumber(const nlohmann::json& item, int& value) {
  if (!item.is_number_unsigned()) return false;
  const auto wide = item.get<uint64_t>();
  value = static_cast<int>(wide);
  return wide <= static_cast<uint64_t>(std::numeric_limits<int>::max());
}

Status ReadColumn(const JsonReader& object, std::string_view key, std::vector<Sample>& samples,
                  auto Sample::*field) {
  if (!object.Has(key)) return {};
  const JsonReader column = object.At(key);
  if (!column.json()->is_array() || column.json()->size() != samples.size()) {
    return column.Bad("an array of " + std::to_string(samples.size()) + " numbers");
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    if (ReadNumber((*column.json())[i], samples[i].*field)) continue;
    TRY(Read(column.At(i), samples[i].*field));
  }
  return {};
}

}  // namespace

nlohmann::json Value(const std::vector<Sample>& samples) {
  nlohmann::json object{{"n", samples.size()}};
  ForEachColumn([&](const char* key, auto field) {
    const auto is_zero = [field](const Sample& sample) { return sample.*field == 0; };
    if (std::ranges::all_of(samples, is_zero)) return;
    nlohmann::json& column = object[key] = nlohmann::json::array();
    column.get_ref<nlohmann::json::array_t&>().reserve(samples.size());
    for (const Sample& sample : samples) column.push_back(Value(sample.*field));
  });
  return object;
}

Status Read(const JsonReader& json, std::vector<Sample>& samples) {
  TRY(json.OnlyFields({"n", "us", "process", "round", "mhz", "c", "w"}));
  samples.assign(static_cast<size_t>(TRY(json.At("n").IntIn(0, kMaxSamples))), {});
  Status status;
  ForEachColumn([&](const char* key, auto field) {
    if (status.ok()) status = ReadColumn(json, key, samples, field);
  });
  return status;
}

// --- A verdict's "outcome" says the kind; the kind's fields stand beside it.

nlohmann::json Value(const Verdict& verdict) {
  nlohmann::json object = std::visit([](const auto& kind) { return Value(kind); }, verdict.outcome);
  object["outcome"] = std::string(OutcomeName(verdict.outcome));
  nlohmann::json evidence = Value(verdict.evidence);
  if (!evidence.empty()) object["evidence"] = std::move(evidence);
  return object;
}

Status Read(const JsonReader& json, Verdict& verdict) {
  TRY(ReadKind(json, "outcome", verdict.outcome, {"outcome", "evidence"}));
  if (json.Has("evidence")) TRY(Read(json.At("evidence"), verdict.evidence));
  return {};
}

}  // namespace warpsmith::json_fields
