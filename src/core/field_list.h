// The fields of a struct, listed once. What walks a struct's fields (the JSON writer, the strict JSON
// reader, the generator of random values for tests) walks this list:
//
//   constexpr auto FieldsOf(const TimedOut*) {
//     return std::tuple(Needed("step", &TimedOut::step), Needed("limit_ms", &TimedOut::limit_ms));
//   }
//
// The function stands in the namespace of its struct. Further functions there may say more of it:
//
//   constexpr std::string_view TagOf(const T*)   its name among the kinds of a variant
//   constexpr Format FormatOf(const T*)          it is a document of its own, with a "version"
//   Status Finish(const JsonReader&, T&)         what must hold between its fields after reading
//   constexpr size_t UnlistedOf(const T*)        how many members are left out on purpose
//
// A list that forgets a member does not compile.
#ifndef WARPSMITH_CORE_FIELD_LIST_H_
#define WARPSMITH_CORE_FIELD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith {

enum class Presence : uint8_t {
  kNeeded,    // always written, and must be there when read
  kWritten,   // always written; when read it may be absent
  kOptional,  // left out where it holds the default of its struct
};

// How a member's text or number is read; kPlain: as its type is.
enum class Kind : uint8_t {
  kPlain,
  kName,    // a text of 1 to 1,024 bytes
  kSigned,  // an integer that may be negative
};

template <typename S, typename T>
struct Field {
  std::string_view name;
  T S::*member;
  Presence presence;
  Kind kind;
};

template <typename S, typename T>
constexpr Field<S, T> Needed(std::string_view name, T S::*member, Kind kind = Kind::kPlain) {
  return {name, member, Presence::kNeeded, kind};
}
template <typename S, typename T>
constexpr Field<S, T> Written(std::string_view name, T S::*member) {
  return {name, member, Presence::kWritten, Kind::kPlain};
}
template <typename S, typename T>
constexpr Field<S, T> Optional(std::string_view name, T S::*member, Kind kind = Kind::kPlain) {
  return {name, member, Presence::kOptional, kind};
}

struct Format {
  int version;            // the only one that is read
  std::string_view what;  // "a task"
};

template <typename T>
concept Listed = requires {
  FieldsOf(static_cast<const T*>(nullptr));
};
template <typename T>
concept Tagged = Listed<T> && requires {
  TagOf(static_cast<const T*>(nullptr));
};
template <typename T>
concept Versioned = Listed<T> && requires {
  FormatOf(static_cast<const T*>(nullptr));
};
template <typename T>
concept Finished = Listed<T> && requires(const JsonReader& json, T& value) {
  Finish(json, value);
};

// How many members an aggregate has: as many values as it can be made from.
struct AnyMember {
  template <typename T>
  operator T() const;  // NOLINT(*-explicit-*): never called
};
template <typename T, size_t... i>
constexpr bool IsMadeFrom(std::index_sequence<i...> /*values*/) {
  return requires { T{(static_cast<void>(i), AnyMember{})...}; };
}
template <typename T, size_t n = 0>
constexpr size_t MemberCount() {
  if constexpr (IsMadeFrom<T>(std::make_index_sequence<n + 1>())) return MemberCount<T, n + 1>();
  return n;
}
template <typename T>
constexpr size_t UnlistedCount() {
  constexpr const T* kNone = nullptr;
  if constexpr (requires { UnlistedOf(kNone); }) return UnlistedOf(kNone);
  return 0;
}

// Calls visit(field) for each field of T.
template <Listed T, typename Visit>
void ForEachField(const Visit& visit) {
  using List = decltype(FieldsOf(static_cast<const T*>(nullptr)));
  static_assert(std::tuple_size_v<List> + UnlistedCount<T>() == MemberCount<T>(),
                "FieldsOf lists each member of the struct");
  std::apply([&visit](const auto&... field) { (visit(field), ...); },
             FieldsOf(static_cast<const T*>(nullptr)));
}

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_FIELD_LIST_H_
