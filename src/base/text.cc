#include "base/text.h"

#include <algorithm>

namespace warpsmith {
namespace {

bool IsPlain(char c, std::string_view also) {
  return IsLetter(c) || IsDigit(c) || also.find(c) != also.npos;
}

}  // namespace

bool IsIdentifier(std::string_view text) {
  return !text.empty() && !IsDigit(text.front()) && std::ranges::all_of(text, IsWordCharacter);
}

bool IsMadeOf(std::string_view text, std::string_view also) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) { return IsPlain(c, also); });
}

bool IsVisible(std::string_view text, std::string_view not_these) {
  return std::ranges::all_of(
      text, [&](char c) { return c > ' ' && c < '\x7f' && not_these.find(c) == not_these.npos; });
}

std::string PlainText(std::string_view text, std::string_view also, char replacement) {
  std::string plain(text);
  std::ranges::replace_if(
      plain, [&](char c) { return !IsPlain(c, also); }, replacement);
  return plain;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view LastLine(std::string_view text) {
  text = Trimmed(text);
  return text.substr(text.rfind('\n') + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace warpsmith
