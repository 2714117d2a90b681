#include "search/call_time.h"

#include <charconv>

namespace warpsmith::search {
namespace {

bool ParseWhole(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Slice> ParseSlice(std::string_view text) {
  Slice slice;
  const size_t primary = text.find('/');
  const bool parsed = primary != std::string_view::npos &&
                      ParseWhole(text.substr(0, primary), slice.index) &&
                      ParseWhole(text.substr(primary + 1), slice.count);
  if (parsed && slice.index >= 1 && slice.index <= slice.count) return slice;
  return Error{ErrorCode::kUsage,
               "slice \"" + std::string(text) + "\": expected i/n with 1 <= i <= n", "e.g. 2/4"};
}

}  // namespace warpsmith::search
