#include "agent/prompts/line_diff.h"

#include <algorithm>
#include <vector>

#include "agent/prompts/reply_text.h"
#include "base/display_text.h"

namespace warpsmith::prompts {
namespace {

using Lines = std::vector<std::string_view>;

constexpr size_t kMaxCells = size_t{4} << 20;  // of the table of common lengths
constexpr size_t kAround = 2;

struct Edited {
  char mark = ' ';  // ' ', '-', '+'
  std::string_view line;
};

// Lengths of the longest common subsequence of the two tails that begin at (i, j).
class CommonTails {
 public:
  CommonTails(const Lines& a, const Lines& b)
      : width_(b.size() + 1), lengths_((a.size() + 1) * (b.size() + 1)) {
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        lengths_[i * width_ + j] =
            a[i] == b[j] ? At(i + 1, j + 1) + 1 : std::max(At(i + 1, j), At(i, j + 1));
      }
    }
  }
  uint32_t At(size_t i, size_t j) const { return lengths_[i * width_ + j]; }

 private:
  size_t width_;
  std::vector<uint32_t> lengths_;
};

void AddAll(char mark, const Lines& lines, std::vector<Edited>& edited) {
  for (const std::string_view line : lines) edited.push_back({mark, line});
}

void AddBetween(const Lines& a, const Lines& b, std::vector<Edited>& edited) {
  if ((a.size() + 1) * (b.size() + 1) > kMaxCells) {
    AddAll('-', a, edited);
    AddAll('+', b, edited);
    return;
  }
  const CommonTails tails(a, b);
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      edited.push_back({' ', a[i++]});
      ++j;
    } else if (j == b.size() || (i < a.size() && tails.At(i + 1, j) >= tails.At(i, j + 1))) {
      edited.push_back({'-', a[i++]});
    } else {
      edited.push_back({'+', b[j++]});
    }
  }
}

std::vector<Edited> Compared(const Lines& a, const Lines& b) {
  const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto tail = std::mismatch(a.rbegin(), std::make_reverse_iterator(end_a), b.rbegin(),
                                  std::make_reverse_iterator(end_b));
  std::vector<Edited> edited;
  AddAll(' ', Lines(a.begin(), end_a), edited);
  AddBetween(Lines(end_a, tail.first.base()), Lines(end_b, tail.second.base()), edited);
  AddAll(' ', Lines(tail.first.base(), a.end()), edited);
  return edited;
}

// Which lines stand near a change.
std::vector<bool> Near(const std::vector<Edited>& edited) {
  std::vector<bool> near(edited.size());
  for (size_t i = 0; i < edited.size(); ++i) {
    if (edited[i].mark == ' ') continue;
    const size_t first = i < kAround ? 0 : i - kAround;
    const size_t last = std::min(i + kAround, edited.size() - 1);
    for (size_t near_by = first; near_by <= last; ++near_by) near[near_by] = true;
  }
  return near;
}

}  // namespace

std::string LineDiff(std::string_view before, std::string_view after) {
  const std::vector<Edited> edited = Compared(LinesOf(before), LinesOf(after));
  const std::vector<bool> near = Near(edited);
  std::string text;
  for (size_t i = 0; i < edited.size(); ++i) {
    if (!near[i]) continue;
    if (i > 0 && !near[i - 1]) text += "@@\n";
    text += edited[i].mark;
    text += std::string(edited[i].line) + "\n";
  }
  return text;
}

std::string SourcesDiff(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after, size_t most_bytes) {
  std::map<std::string, std::string> names = before;
  names.insert(after.begin(), after.end());
  const auto text_in = [](const std::map<std::string, std::string>& sources,
                          const std::string& name) {
    const auto found = sources.find(name);
    return found == sources.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string text;
  for (const auto& [name, unused] : names) {
    const std::string diff = LineDiff(text_in(before, name), text_in(after, name));
    if (!diff.empty()) text += ForTerminal(name) + "\n" + diff;
  }
  if (text.size() <= most_bytes) return text;
  const size_t end = text.rfind('\n', most_bytes);
  return text.substr(0, end == text.npos ? 0 : end + 1) + "(more follows)\n";
}

}  // namespace warpsmith::prompts
