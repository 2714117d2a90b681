// JSON of one field's value, whatever its type, and of a struct by its list of fields
// (core/field_list.h). Names of enumerations are here too.
#ifndef WARPSMITH_CORE_JSON_FIELDS_H_
#define WARPSMITH_CORE_JSON_FIELDS_H_

#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/expression.h"
#include "core/fields.h"

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

// --- Writing.

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
nlohmann::json Value(const std::pair<std::string, double>& named);  // [name, number]
nlohmann::json Value(const std::array<Expression, 3>& extents);
nlohmann::json Value(const Argument& argument);            // its key says its kind
nlohmann::json Value(const std::vector<Sample>& samples);  // as columns
nlohmann::json Value(const Verdict& verdict);  // its outcome, with "outcome" and "evidence" beside

template <typename E>
requires std::is_enum_v<E> nlohmann::json Value(E value) {
  for (const Named<E>& row : Names<E>()) {
    if (row.value == value) return std::string(row.name);
  }
  std::abort();
}

template <typename T>
nlohmann::json Value(const std::vector<T>& items);
template <typename T>
nlohmann::json Value(const std::optional<T>& value);  // that is there
template <Listed T>
nlohmann::json Value(const T& value);
template <Tagged... Kinds>
nlohmann::json Value(const std::variant<Kinds...>& value);

template <typename T>
nlohmann::json Value(const std::vector<T>& items) {
  nlohmann::json array = nlohmann::json::array();
  for (const T& item : items) array.push_back(Value(item));
  return array;
}

template <typename T>
nlohmann::json Value(const std::optional<T>& value) {
  return Value(*value);
}

template <Listed T>
bool IsStandard(const T& value, const T& standard);

template <typename T>
bool IsStandard(const std::optional<T>& value, const std::optional<T>& /*standard*/) {
  return !value.has_value();
}
template <typename T>
bool IsStandard(const std::vector<T>& value, const std::vector<T>& standard) {
  if constexpr (std::is_enum_v<T>) {
    return value == standard;
  } else {
    return value.empty() && standard.empty();
  }
}
template <typename T>
bool IsStandard(const T& value, const T& standard) {
  return value == standard;
}
template <Listed T>
bool IsStandard(const T& value, const T& standard) {
  bool all = true;
  ForEachField<T>([&](const auto& field) {
    all = all && IsStandard(value.*field.member, standard.*field.member);
  });
  return all;
}

template <Listed T>
nlohmann::json Value(const T& value) {
  static const T& standard = *new T();
  nlohmann::json object = nlohmann::json::object();
  if constexpr (Versioned<T>) object["version"] = FormatOf(&value).version;
  ForEachField<T>([&](const auto& field) {
    const auto& member = value.*field.member;
    if (field.presence == Presence::kOptional && IsStandard(member, standard.*field.member)) return;
    object[std::string(field.name)] = Value(member);
  });
  return object;
}

// The kind's fields, and its tag beside them as "type".
template <Tagged... Kinds>
nlohmann::json Value(const std::variant<Kinds...>& value) {
  return std::visit(
      [](const auto& kind) {
        nlohmann::json object = Value(kind);
        object["type"] = std::string(TagOf(&kind));
        return object;
      },
      value);
}

// --- Reading. Each overload says what it expects where it does not find it.

Status Read(const JsonReader& json, bool& value);
Status Read(const JsonReader& json, uint8_t& value);
Status Read(const JsonReader& json, uint16_t& value);
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
Status Read(const JsonReader& json, std::pair<std::string, double>& named);
Status Read(const JsonReader& json, std::array<Expression, 3>& extents);
Status Read(const JsonReader& json, Argument& argument);
Status Read(const JsonReader& json, std::vector<Sample>& samples);
Status Read(const JsonReader& json, Verdict& verdict);

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

template <typename T>
Status Read(const JsonReader& json, std::vector<T>& items);
template <typename T>
Status Read(const JsonReader& json, std::optional<T>& value);
template <Listed T>
Status Read(const JsonReader& json, T& value);
template <Tagged... Kinds>
Status Read(const JsonReader& json, std::variant<Kinds...>& value);

// A string of 1 to kMaxNameBytes.
Status ReadName(const JsonReader& json, std::string& name);

// "version" must be there and be the known one; kVersion otherwise.
Status NeedVersion(const JsonReader& json, Format format);

// The items of an array, or an Error if there are more than `most`.
Result<std::vector<JsonReader>> ItemsUpTo(const JsonReader& json, size_t most = kMaxItems);

// "a, b or c".
std::string OneOf(std::initializer_list<std::string_view> names);

template <typename T>
Result<T> ReadAs(const JsonReader& json) {
  if constexpr (std::is_same_v<T, Expression>) {
    T value = Expression::Constant(0);
    TRY(Read(json, value));
    return value;
  } else {
    T value{};
    TRY(Read(json, value));
    return value;
  }
}

template <typename T>
Status Read(const JsonReader& json, std::vector<T>& items) {
  items.clear();
  for (const JsonReader& item : TRY(ItemsUpTo(json))) items.push_back(TRY(ReadAs<T>(item)));
  return {};
}

template <typename T>
Status Read(const JsonReader& json, std::optional<T>& value) {
  value = TRY(ReadAs<T>(json));
  return {};
}

template <typename S, typename T>
Status ReadField(const JsonReader& json, const Field<S, T>& field, S& value) {
  if (field.presence != Presence::kNeeded && !json.Has(field.name)) return {};
  const JsonReader place = json.At(field.name);
  T& member = value.*field.member;
  if constexpr (std::is_same_v<T, std::string>) {
    if (field.kind == Kind::kName) return ReadName(place, member);
  }
  if constexpr (std::is_same_v<T, std::optional<int64_t>>) {
    if (field.kind == Kind::kSigned) {
      member = TRY(place.Int());
      return {};
    }
  }
  return Read(place, member);
}

// The struct's fields; others are refused, but for those of `besides`, which somebody else reads.
template <Listed T>
Status ReadFields(const JsonReader& json, T& value,
                  std::initializer_list<std::string_view> besides) {
  if constexpr (Versioned<T>) TRY(NeedVersion(json, FormatOf(&value)));
  return std::apply(
      [&](const auto&... field) -> Status {
        TRY(json.OnlyFields({field.name...}, besides));
        Status status;
        static_cast<void>((... && (status = ReadField(json, field, value)).ok()));
        TRY(std::move(status));
        if constexpr (Finished<T>) TRY(Finish(json, value));
        return {};
      },
      FieldsOf(static_cast<const T*>(nullptr)));
}

template <Listed T>
Status Read(const JsonReader& json, T& value) {
  if constexpr (Versioned<T>) return ReadFields(json, value, {"version"});
  return ReadFields(json, value, {});
}

// Reads the kind whose tag stands in field `key`.
template <Tagged... Kinds>
Status ReadKind(const JsonReader& json, std::string_view key, std::variant<Kinds...>& value,
                std::initializer_list<std::string_view> besides) {
  const std::string tag = TRY(json.At(key).String());
  Status status = json.At(key).Bad(OneOf({TagOf(static_cast<const Kinds*>(nullptr))...}));
  const auto read_if = [&]<typename T>(const T* kind) {
    if (TagOf(kind) == tag) status = ReadFields(json, value.template emplace<T>(), besides);
  };
  (read_if(static_cast<const Kinds*>(nullptr)), ...);
  return status;
}

template <Tagged... Kinds>
Status Read(const JsonReader& json, std::variant<Kinds...>& value) {
  return ReadKind(json, "type", value, {"type"});
}

}  // namespace warpsmith::json_fields

#endif  // WARPSMITH_CORE_JSON_FIELDS_H_
