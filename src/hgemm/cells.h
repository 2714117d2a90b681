// What the folder's tables are made of: cells between separators, and whole cells as numbers.
#ifndef WARPSMITH_HGEMM_CELLS_H_
#define WARPSMITH_HGEMM_CELLS_H_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace warpsmith::hgemm {

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
