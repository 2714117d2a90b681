#include "core/json_fields.h"

#include <array>
#include <charconv>
#include <cmath>

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
    {{Form::kKernel, "kernel"}, {Form::kProgram, "program"}}};
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

Status Read(const JsonReader& json, bool& value) {
  value = TRY(json.Bool());
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

Result<std::vector<JsonReader>> ItemsUpTo(const JsonReader& json, size_t most) {
  if (json.json() != nullptr && json.json()->is_array() && json.json()->size() > most) {
    return json.Bad("at most " + std::to_string(most) + " items");
  }
  return json.Items();
}

Status NeedVersion(const JsonReader& json, int known, std::string_view what) {
  const int64_t found = TRY(json.At("version").Int());
  if (found == known) return {};
  const std::string reads = "version " + std::to_string(known) + " of " + std::string(what) +
                            " (the only one that this program reads)";
  return Error{ErrorCode::kVersion, json.At("version").Bad(reads).message,
               "use the warpsmith that wrote it, or write it anew"};
}

}  // namespace warpsmith::json_fields
