#include "agent/prompts/elision.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "agent/prompts/reply_text.h"

namespace warpsmith::prompts {
namespace {

// "..." in a comment also stands for a series (a[0], a[1], ...), so it takes a word with it.
bool StandsForOthers(std::string_view line) {
  constexpr std::array<std::string_view, 9> kWords = {
      "unchanged",        "rest of", "existing code", "same as before", "as before",
      "remains the same", "omitted", "previous code", "your code here"};
  line = Trimmed(line);
  if (!line.starts_with("//") && !line.starts_with("/*") && !line.starts_with("...")) return false;
  if (line.find("...") == line.npos && line.find("\xE2\x80\xA6") == line.npos) return false;
  std::string lower(line);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

}  // namespace

std::optional<std::string> ElidedLine(std::string_view text, std::string_view before) {
  for (const std::string_view line : LinesOf(text)) {
    if (StandsForOthers(line) && before.find(Trimmed(line)) == before.npos) {
      return std::string(Trimmed(line));
    }
  }
  return std::nullopt;
}

}  // namespace warpsmith::prompts
