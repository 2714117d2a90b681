#include "base/utf8.h"

#include <cstdint>

namespace warpsmith {
namespace {

// Bytes of the valid sequence that `text` begins with (Unicode 15, table 3-7), or 0.
size_t SequenceBytes(std::string_view text) {
  const auto byte = [&](size_t i) -> uint8_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const auto continues = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xbf; };
  const uint8_t first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return !overlong && !surrogate && continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool too_large = first == 0xf4 && second > 0x8f;
    return !overlong && !too_large && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

// Offset of the first byte that is not part of a valid sequence, or the size.
size_t ValidPrefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = SequenceBytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

}  // namespace

bool IsUtf8(std::string_view text) { return ValidPrefix(text) == text.size(); }

std::string ValidUtf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string valid;
  valid.reserve(text.size());
  while (true) {
    const size_t good = ValidPrefix(text);
    valid += text.substr(0, good);
    if (good == text.size()) return valid;
    valid += kReplacement;
    text.remove_prefix(good + 1);
  }
}

std::string AsciiLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace warpsmith
