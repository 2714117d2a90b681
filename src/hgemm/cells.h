// What the folder's tables are made of: cells between separators, whole cells as numbers, and where
// in a file an error is.
#ifndef WARPSMITH_HGEMM_CELLS_H_
#define WARPSMITH_HGEMM_CELLS_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/result.h"

namespace warpsmith::hgemm {

inline constexpr int64_t kLargestExtent = int64_t{1} << 24;  // m, n, k of a table's row

struct Place {
  std::string_view source;
  int line = 0;
};

inline Error BadAt(const Place& place, const std::string& what, const char* fix) {
  return {ErrorCode::kBadInput,
          std::string(place.source) + ":" + std::to_string(place.line) + ": " + what, fix};
}

inline std::string Quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 80)) + "'";
}

// What a table's first line says.
struct FirstLine {
  std::string_view kind;  // "catalogue"
  int version = 1;        // the one that is written, and read
  const char* fix;        // where it is no such table
  const char* fix_version;

  std::string Start() const { return "# warpsmith hgemm " + std::string(kind) + ", version "; }
  std::string Text() const { return Start() + std::to_string(version); }
};

inline Status CheckFirstLine(const FirstLine& expected, const Place& place, std::string_view line) {
  const std::string start = expected.Start(), kind(expected.kind);
  if (!line.starts_with(start)) {
    return BadAt(place, "not a " + kind + ": expected '" + start + "1'", expected.fix);
  }
  const std::string_view version = line.substr(start.size());
  if (version == std::to_string(expected.version)) return {};
  Error error = BadAt(place,
                      kind + " of version " + Quoted(version) + ", this program reads version " +
                          std::to_string(expected.version),
                      expected.fix_version);
  error.code = ErrorCode::kVersion;
  return error;
}

// Never empty: a text without separators is one cell.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Nullopt unless all of `text` is one number of that type.
template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_CELLS_H_
