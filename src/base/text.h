// Cutting texts and joining them; what characters are in ASCII, whatever the locale.
#ifndef WARPSMITH_BASE_TEXT_H_
#define WARPSMITH_BASE_TEXT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool IsWordCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }
inline bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// Word characters, at least one, of which the first is no digit.
bool IsIdentifier(std::string_view text);

// Letters, digits and characters of `also`, at least one.
bool IsMadeOf(std::string_view text, std::string_view also);

// Visible characters of ASCII, and none of `not_these`. True of an empty text.
bool IsVisible(std::string_view text, std::string_view not_these = "");

// Each character but letters, digits and those of `also` becomes `replacement`.
std::string PlainText(std::string_view text, std::string_view also, char replacement);

// Without the blanks, tabs and line ends around it.
std::string_view Trimmed(std::string_view text);

// The last line that has text: what a program said before it ended.
std::string_view LastLine(std::string_view text);

// One part more than there are separators.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Each item, or what `text_of` (a function, or a member) gives of it, with `between` between them.
template <typename Items, typename TextOf = std::identity>
std::string Joined(const Items& items, std::string_view between = ", ", TextOf text_of = {}) {
  std::string joined;
  for (const auto& item : items) {
    if (!joined.empty()) joined += between;
    joined += std::invoke(text_of, item);
  }
  return joined;
}

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_TEXT_H_
