// How the values' fields are written and read: shared by the serialize_*.cc files of this folder,
// and the names of enumerations by whoever writes them in JSON of its own.
#ifndef WARPSMITH_CORE_JSON_FIELDS_H_
#define WARPSMITH_CORE_JSON_FIELDS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "base/utf8.h"
#include "core/dtype.h"
#include "core/expression.h"
#include "core/launch_plan.h"
#include "core/protocol.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith::json_fields {

inline constexpr size_t kMaxNameBytes = 1024;
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxItems = 65'536;
inline constexpr int64_t kMaxSamples = 1 << 20;

// --- Enumerations by name.

template <typename E>
struct Named {
  E value;
  std::string_view name;
};
template <typename E>
std::span<const Named<E>> Names();  // specialised in json_fields.cc
template <>
std::span<const Named<DType>> Names();
template <>
std::span<const Named<Role>> Names();
template <>
std::span<const Named<Generator>> Names();
template <>
std::span<const Named<Form>> Names();
template <>
std::span<const Named<Swizzle>> Names();
template <>
std::span<const Named<Mode>> Names();
template <>
std::span<const Named<Level>> Names();
template <>
std::span<const Named<AuditStatus>> Names();
template <>
std::span<const Named<Finding>> Names();

// --- Writing. A field that equals its default is left out.

nlohmann::json Value(bool value);
nlohmann::json Value(int value);
nlohmann::json Value(int64_t value);
nlohmann::json Value(float value);  // its own shortest digits, not those of the double
nlohmann::json Value(double value);
nlohmann::json Value(const std::string& text);
nlohmann::json Value(const Expression& expression);  // constants as numbers
nlohmann::json Value(const Interval& interval);
nlohmann::json Value(const std::map<std::string, int64_t, std::less<>>& values);
nlohmann::json Value(const std::map<std::string, int64_t>& values);
nlohmann::json Value(const std::map<std::string, std::string>& texts);

template <typename E>
requires std::is_enum_v<E> nlohmann::json Value(E value) {
  for (const Named<E>& row : Names<E>()) {
    if (row.value == value) return std::string(row.name);
  }
  std::abort();
}

template <typename T>
nlohmann::json Value(const std::vector<T>& items) {
  nlohmann::json array = nlohmann::json::array();
  for (const T& item : items) array.push_back(Value(item));
  return array;
}

template <typename T>
void Put(nlohmann::json& object, const char* key, const T& value, const T& standard) {
  if (!(value == standard)) object[key] = Value(value);
}
template <typename T>
void Put(nlohmann::json& object, const char* key, const std::optional<T>& value) {
  if (value.has_value()) object[key] = Value(*value);
}
template <typename T>
void Put(nlohmann::json& object, const char* key, const std::vector<T>& items) {
  if (!items.empty()) object[key] = Value(items);
}

// --- Reading. Each overload says what it expects where it does not find it.

Status Read(const JsonReader& json, bool& value);
Status Read(const JsonReader& json, int& value);      // from 0
Status Read(const JsonReader& json, int64_t& value);  // from 0
Status Read(const JsonReader& json, float& value);
Status Read(const JsonReader& json, double& value);
Status Read(const JsonReader& json, std::string& text);
Status Read(const JsonReader& json, Expression& expression);  // text or integer
Status Read(const JsonReader& json, Interval& interval);
Status Read(const JsonReader& json, std::vector<double>& numbers);
Status Read(const JsonReader& json, std::map<std::string, int64_t, std::less<>>& values);
Status Read(const JsonReader& json, std::map<std::string, int64_t>& counts);  // from 0
Status Read(const JsonReader& json, std::map<std::string, std::string>& texts);

// A string of 1 to kMaxNameBytes.
Status ReadName(const JsonReader& json, std::string& name);

template <typename E>
requires std::is_enum_v<E> Status Read(const JsonReader& json, E& value) {
  std::string known;
  const nlohmann::json* found = json.json();
  for (const Named<E>& row : Names<E>()) {
    if (found != nullptr && found->is_string() &&
        found->get_ref<const std::string&>() == row.name) {
      value = row.value;
      return {};
    }
    known += (known.empty() ? "one of " : ", ") + std::string(row.name);
  }
  return json.Bad(known);
}

// The items of an array, or an Error if there are more than `most`.
Result<std::vector<JsonReader>> ItemsUpTo(const JsonReader& json, size_t most = kMaxItems);

template <typename T>
Status ReadList(const JsonReader& json, std::vector<T>& items,
                Result<T> (*from)(const JsonReader&)) {
  items.clear();
  for (const JsonReader& item : TRY(ItemsUpTo(json))) items.push_back(TRY(from(item)));
  return {};
}

template <typename T>
Result<T> ReadAs(const JsonReader& json);

template <>
inline Result<Expression> ReadAs(const JsonReader& json) {
  Expression value = Expression::Constant(0);
  TRY(Read(json, value));
  return value;
}
template <typename T>
Result<T> ReadAs(const JsonReader& json) {
  T value{};
  TRY(Read(json, value));
  return value;
}

template <typename T>
Status Read(const JsonReader& json, std::vector<T>& items) {
  return ReadList<T>(json, items, ReadAs<T>);
}
template <typename T>
Status Read(const JsonReader& json, std::optional<T>& value) {
  value = TRY(ReadAs<T>(json));
  return {};
}

// The field must be there.
template <typename T>
Status Need(const JsonReader& json, std::string_view key, T& value) {
  return Read(json.At(key), value);
}
// The field may be absent: `value` stays as it is.
template <typename T>
Status Take(const JsonReader& json, std::string_view key, T& value) {
  if (!json.Has(key)) return {};
  return Read(json.At(key), value);
}

// "version" must be there and be `known`; kVersion otherwise.
Status NeedVersion(const JsonReader& json, int known, std::string_view what);

}  // namespace warpsmith::json_fields

#endif  // WARPSMITH_CORE_JSON_FIELDS_H_
