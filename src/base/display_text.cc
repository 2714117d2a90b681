#include "base/display_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/utf8.h"

namespace warpsmith {
namespace {

// Of valid UTF-8 the code point at `at`, which moves behind it.
uint32_t TakeCodePoint(std::string_view text, size_t* at) {
  const auto lead = static_cast<unsigned char>(text[*at]);
  const size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code = bytes == 1 ? lead : lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes && *at + i < text.size(); ++i) {
    code = (code << 6U) | (static_cast<unsigned char>(text[*at + i]) & 0x3FU);
  }
  *at += bytes;
  return code;
}

bool In(uint32_t code, uint32_t first, uint32_t last) { return code >= first && code <= last; }

// Controls, line separators, bidirectional marks, what has no width, private use and tags.
bool IsUnsafe(uint32_t code) {
  return code < 0x20 || In(code, 0x7F, 0x9F) || code == 0xAD || code == 0x61C ||
         In(code, 0x180B, 0x180F) || In(code, 0x200B, 0x200F) || In(code, 0x2028, 0x202E) ||
         In(code, 0x2060, 0x206F) || In(code, 0xFE00, 0xFE0F) || code == 0xFEFF ||
         In(code, 0xFFF0, 0xFFFC) || In(code, 0xE000, 0xF8FF) || code >= 0xE0000;
}

struct Character {
  uint32_t code = 0;
  std::string_view bytes;
};

std::vector<Character> SafeCharacters(std::string_view valid, size_t most) {
  std::vector<Character> characters;
  for (size_t at = 0; at < valid.size();) {
    if (characters.size() == most) {
      characters.resize(most - std::min<size_t>(most, 3));
      characters.insert(characters.end(), 3, {'.', "."});
      return characters;
    }
    const size_t start = at;
    const uint32_t code = TakeCodePoint(valid, &at);
    characters.push_back(IsUnsafe(code) ? Character{'?', "?"}
                                        : Character{code, valid.substr(start, at - start)});
  }
  return characters;
}

// As JSON's \uXXXX, in two halves above the first plane.
void AppendEscape(uint32_t code, std::string* out) {
  char text[16];
  if (code >= 0x10000) {
    const uint32_t rest = code - 0x10000;
    std::snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD800 + (rest >> 10U),
                  0xDC00 + (rest & 0x3FFU));
  } else {
    std::snprintf(text, sizeof text, "\\u%04x", code);
  }
  *out += text;
}

}  // namespace

std::string ForTerminal(std::string_view text, size_t most_characters) {
  const std::string valid = ValidUtf8(text);
  std::string shown;
  for (const Character& character : SafeCharacters(valid, most_characters)) {
    shown += character.bytes;
  }
  return shown;
}

std::string LinesForTerminal(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    std::replace(line.begin(), line.end(), '\t', ' ');
    lines += ForTerminal(line, line.size());
    if (end < text.size()) lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string QuotedForModel(std::string_view text, size_t most_characters) {
  constexpr std::string_view kPlain = " !#$%'()*+,-./:;=?@[]^_|~";
  const std::string valid = ValidUtf8(text);
  std::string quoted = "\"";
  for (const Character& character : SafeCharacters(valid, most_characters)) {
    const uint32_t code = character.code;
    const bool plain = In(code, '0', '9') || In(code, 'A', 'Z') || In(code, 'a', 'z') ||
                       (code < 0x80 && kPlain.find(static_cast<char>(code)) != kPlain.npos);
    if (plain) {
      quoted += static_cast<char>(code);
    } else {
      AppendEscape(code, &quoted);
    }
  }
  return quoted + '"';
}

}  // namespace warpsmith
