// A value or the Error that kept us from it. A bad candidate is not an Error: that is a Verdict.
#ifndef WARPSMITH_BASE_RESULT_H_
#define WARPSMITH_BASE_RESULT_H_

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

#include "base/error.h"

namespace warpsmith {

// Taking the one that is not there throws std::bad_variant_access: a bug of the caller.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  void value() const {}
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

// TRY(expr): the value of a Result, or return its Error from the enclosing function. Not in braces
// after something that holds memory: compilers do not destroy what such a list has begun with.
#define TRY(...)                                                \
  __extension__({                                               \
    auto try_result = (__VA_ARGS__);                            \
    if (!try_result.ok()) return std::move(try_result).error(); \
    std::move(try_result).value();                              \
  })

// A bug of ours: say where, and stop.
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_RESULT_H_
