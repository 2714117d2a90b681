#include "agent/prompts/edit.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/prompts/reply_text.h"
#include "base/display_text.h"

namespace warpsmith::prompts {
namespace {

// Tokens without white space: "a  = b" and "a = b" are alike, "ab" and "a b" are not.
std::string Collapsed(std::string_view line) {
  std::string out;
  bool gap = false;
  for (const char c : line) {
    if (c == ' ' || c == '\t') {
      gap = !out.empty();
      continue;
    }
    if (gap) out += ' ';
    gap = false;
    out += c;
  }
  return out;
}

std::string Same(std::string_view line) { return std::string(line); }

// Lines as numbers, equal for equal lines, so that searching never compares texts twice.
class LineNumbers {
 public:
  explicit LineNumbers(std::string (*form)(std::string_view)) : form_(form) {}
  std::vector<size_t> Of(const std::vector<std::string_view>& lines) {
    std::vector<size_t> numbers;
    numbers.reserve(lines.size());
    for (const std::string_view line : lines) {
      numbers.push_back(numbers_.try_emplace(form_(line), numbers_.size()).first->second);
    }
    return numbers;
  }

 private:
  std::string (*form_)(std::string_view);
  std::unordered_map<std::string, size_t> numbers_;
};

// Where `part` stands in `whole`, overlaps included (Knuth, Morris, Pratt). `part` is not empty.
std::vector<size_t> FindAll(const std::vector<size_t>& whole, const std::vector<size_t>& part) {
  std::vector<size_t> border(part.size() + 1, 0);
  for (size_t i = 1, k = 0; i < part.size(); border[++i] = k) {
    while (k > 0 && part[i] != part[k]) k = border[k];
    if (part[i] == part[k]) ++k;
  }
  std::vector<size_t> found;
  for (size_t i = 0, k = 0; i < whole.size(); ++i) {
    while (k > 0 && (k == part.size() || whole[i] != part[k])) k = border[k];
    if (whole[i] == part[k]) ++k;
    if (k == part.size()) found.push_back(i + 1 - k);
  }
  return found;
}

std::vector<size_t> FindLines(const std::vector<std::string_view>& file,
                              const std::vector<std::string_view>& part,
                              std::string (*form)(std::string_view)) {
  if (part.empty()) return {};
  LineNumbers numbers(form);
  const std::vector<size_t> whole = numbers.Of(file);
  return FindAll(whole, numbers.Of(part));
}

std::vector<std::string_view> WithoutBlankEnds(std::vector<std::string_view> lines) {
  const auto blank = [](std::string_view line) { return Trimmed(line).empty(); };
  while (!lines.empty() && blank(lines.back())) lines.pop_back();
  lines.erase(lines.begin(), std::find_if_not(lines.begin(), lines.end(), blank));
  return lines;
}

std::string QuotedEdit(std::string_view search) {
  const auto lines = WithoutBlankEnds(LinesOf(search));
  return lines.empty() ? "''" : "'" + ForTerminal(Trimmed(lines.front()), 60) + "'";
}

Error Missing(const Edit& edit) {
  return BadReply(edit.name + ": no place in the file has the lines that begin with " +
                  QuotedEdit(edit.search));
}

Error Ambiguous(const Edit& edit, size_t places) {
  return BadReply(edit.name + ": " + std::to_string(places) +
                  " places have the lines that begin with " + QuotedEdit(edit.search) +
                  "; give more of them");
}

// The one place, or the one of several that the diff's line number names.
Result<size_t> Choose(const Edit& edit, const std::vector<size_t>& places) {
  if (places.size() == 1) return places.front();
  const bool named = edit.line && *edit.line > 0 &&
                     std::binary_search(places.begin(), places.end(), *edit.line - 1);
  if (!named) return Ambiguous(edit, places.size());
  return *edit.line - 1;
}

std::string ReplaceLines(std::string_view file, const std::vector<std::string_view>& lines,
                         size_t first, size_t count, std::string_view replace) {
  const size_t begin = static_cast<size_t>(lines[first].data() - file.data());
  const std::string_view last = lines[first + count - 1];
  size_t end = static_cast<size_t>(last.data() - file.data()) + last.size();
  const bool ends_line = end < file.size();
  if (ends_line) ++end;
  std::string out(file.substr(0, begin));
  out += replace;
  if (!replace.empty() && replace.back() != '\n' && ends_line) out += '\n';
  out += file.substr(end);
  return out;
}

// Part of one line or more, as an exact text. Overlapping places count as two.
std::vector<size_t> FindText(std::string_view file, std::string_view search) {
  std::vector<size_t> found;
  if (search.empty()) return found;
  for (size_t at = file.find(search); at != file.npos && found.size() < 2;
       at = file.find(search, at + 1)) {
    found.push_back(at);
  }
  return found;
}

}  // namespace

Result<std::string> ApplyEdit(std::string_view file, const Edit& edit) {
  if (Trimmed(edit.search).empty()) {
    if (Trimmed(file).empty()) return edit.replace;
    return BadReply(edit.name + ": says nothing of what to replace");
  }
  const std::vector<std::string_view> lines = LinesOf(file);
  const std::vector<std::string_view> part = LinesOf(edit.search);
  const std::vector<size_t> exact = FindLines(lines, part, Same);
  if (!exact.empty()) {
    return ReplaceLines(file, lines, TRY(Choose(edit, exact)), part.size(), edit.replace);
  }
  std::string_view text = edit.search, replace = edit.replace;
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (replace.ends_with('\n')) replace.remove_suffix(1);
  const std::vector<size_t> within = FindText(file, text);
  if (within.size() > 1) return Ambiguous(edit, within.size());
  if (within.size() == 1) {
    return std::string(file.substr(0, within[0])) + std::string(replace) +
           std::string(file.substr(within[0] + text.size()));
  }
  const std::vector<std::string_view> core = WithoutBlankEnds(part);
  const std::vector<size_t> alike = FindLines(lines, core, Collapsed);
  if (alike.empty()) return Missing(edit);
  return ReplaceLines(file, lines, TRY(Choose(edit, alike)), core.size(), edit.replace);
}

}  // namespace warpsmith::prompts
