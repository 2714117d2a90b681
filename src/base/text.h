// Cutting texts and joining them.
#ifndef WARPSMITH_BASE_TEXT_H_
#define WARPSMITH_BASE_TEXT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith {

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
