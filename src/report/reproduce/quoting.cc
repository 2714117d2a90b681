#include "report/reproduce/quoting.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpsmith::reproduce {
namespace {

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

// No shell gives these a meaning.
bool IsPlainInShell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+./=:,").find(c) != std::string_view::npos;
}

}  // namespace

std::string Plain(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    // A backslash at the end of a line would draw the next one into a comment.
    if (!IsPrintable(c) || c == '\\') c = '?';
  }
  return plain;
}

std::string CppLiteral(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      literal += fmt::format("\\{}", c);
    } else if (IsPrintable(c) && c != '?') {
      literal += c;
    } else {  // three octal digits never run on; '?' could begin a trigraph
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return literal + "\"";
}

std::string ShellWord(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlainInShell)) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace warpsmith::reproduce
