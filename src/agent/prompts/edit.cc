#include "agent/prompts/edit.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/text.h"

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

namespace {

constexpr size_t kLeastSigns = 5;  // seven are asked for

// What follows a run of signs at the line's beginning; the line itself may not be indented much.
std::optional<std::string_view> After(std::string_view line, char sign) {
  line = Trimmed(line);
  const size_t length = std::min(line.find_first_not_of(sign), line.size());
  if (length < kLeastSigns) return std::nullopt;
  return Trimmed(line.substr(length));
}

bool BeginsWithWord(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char left, char right) {
           return left == std::toupper(static_cast<unsigned char>(right));
         });
}

bool IsSearch(std::string_view line) {
  const auto rest = After(line, '<');
  return rest && (BeginsWithWord(*rest, "SEARCH") || BeginsWithWord(*rest, "ORIGINAL"));
}
bool IsDivider(std::string_view line) {
  const auto rest = After(line, '=');
  return rest && rest->empty();
}
bool IsEnd(std::string_view line) {
  const auto rest = After(line, '>');
  return rest &&
         (rest->empty() || BeginsWithWord(*rest, "REPLACE") || BeginsWithWord(*rest, "UPDATED"));
}

using Lines = std::vector<std::string_view>;

std::string Joined(const Lines& lines, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += std::string(lines[i]) + '\n';
  return text;
}

// Behind SEARCH, else on the line above.
std::string NameOf(const Lines& lines, size_t search) {
  if (const auto behind = NameInInfo(*After(lines[search], '<'))) return *behind;
  for (size_t i = search; i-- > 0 && search - i <= 2;) {
    if (const auto label = NameAsLabel(lines[i])) return *label;
    if (!Trimmed(lines[i]).empty()) break;
  }
  return "";
}

}  // namespace

bool HasSearchBlocks(std::string_view text) {
  const Lines lines = LinesOf(text);
  return std::any_of(lines.begin(), lines.end(), IsSearch);
}

Result<std::vector<FileEdit>> ReadSearchBlocks(std::string_view text) {
  const Lines lines = LinesOf(text);
  std::vector<FileEdit> edits;
  auto at = lines.begin();
  while ((at = std::find_if(at, lines.end(), IsSearch)) != lines.end()) {
    const std::string number = std::to_string(edits.size() + 1);
    const auto middle = std::find_if(at, lines.end(), IsDivider);
    if (middle == lines.end()) return BadReply("edit " + number + " has no ======= line");
    const auto end = std::find_if(middle, lines.end(), IsEnd);
    if (end == lines.end()) return BadReply("edit " + number + " ends without its REPLACE line");
    if (edits.size() == kMaxEdits) {
      return BadReply("more than " + std::to_string(kMaxEdits) + " edits");
    }
    const auto index = [&](Lines::const_iterator line) {
      return static_cast<size_t>(line - lines.begin());
    };
    FileEdit edit;
    edit.file = NameOf(lines, index(at));
    edit.edit.search = Joined(lines, index(at) + 1, index(middle));
    edit.edit.replace = Joined(lines, index(middle) + 1, index(end));
    edits.push_back(std::move(edit));
    at = end;
  }
  return edits;
}

namespace {

using Lines = std::vector<std::string_view>;

bool IsHunk(std::string_view line) { return line.starts_with("@@"); }
bool IsFileHeader(const Lines& lines, size_t at) {
  return lines[at].starts_with("--- ") && at + 1 < lines.size() &&
         lines[at + 1].starts_with("+++ ");
}

// "b/kernel.cu\t2026-01-01" -> "kernel.cu"
std::string NameOf(std::string_view header) {
  std::string_view name = Trimmed(header.substr(4));
  name = name.substr(0, name.find('\t'));
  if (name.starts_with("a/") || name.starts_with("b/")) name.remove_prefix(2);
  return std::string(name);
}

// The old side's first line in "@@ -12,7 +12,9 @@".
std::optional<size_t> LineOf(std::string_view hunk) {
  const size_t minus = hunk.find('-');
  size_t line = 0;
  if (minus == hunk.npos) return std::nullopt;
  const auto [end, error] =
      std::from_chars(hunk.data() + minus + 1, hunk.data() + hunk.size(), line);
  if (error != std::errc()) return std::nullopt;
  return line;
}

// Git's words about a file; they end a hunk.
bool IsGitLine(std::string_view line) {
  return line.starts_with("diff --git ") || line.starts_with("index ") ||
         line.starts_with("new file mode ");
}

class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(LinesOf(text)) {}

  Result<std::vector<FileEdit>> Read() {
    for (size_t at = 0; at < lines_.size();) {
      if (lines_[at].starts_with("rename ") || lines_[at].starts_with("deleted file")) {
        return BadReply("the diff renames or deletes a file");
      }
      if (IsFileHeader(lines_, at)) {
        TRY(TakeHeader(at));
        at += 2;
      } else if (IsHunk(lines_[at])) {
        at = TakeHunk(at);
      } else {
        ++at;
      }
      if (edits_.size() > kMaxEdits) {
        return BadReply("more than " + std::to_string(kMaxEdits) + " edits");
      }
    }
    if (edits_.empty()) return BadReply("the diff has no hunk (@@)");
    return std::move(edits_);
  }

 private:
  Status TakeHeader(size_t at) {
    file_ = NameOf(lines_[at + 1]);
    creates_ = NameOf(lines_[at]) == "/dev/null";
    if (file_ == "/dev/null") return BadReply("the diff deletes a file");
    return {};
  }

  // Lines count as they are marked; an empty one is an empty line of context whose space got lost.
  size_t TakeHunk(size_t at) {
    FileEdit edit{file_, creates_, {"", "", "", LineOf(lines_[at])}};
    size_t blank = 0;  // at the end they belong to the reply, not to the hunk
    for (++at; at < lines_.size(); ++at) {
      const std::string_view line = lines_[at];
      if (IsHunk(line) || IsFileHeader(lines_, at) || IsGitLine(line)) break;
      if (line.empty()) {
        ++blank;
        continue;
      }
      if (std::string_view(" +-\\\t").find(line[0]) == std::string_view::npos) break;
      for (; blank > 0; --blank) Both("", &edit.edit);
      Take(line, &edit.edit);
    }
    edits_.push_back(std::move(edit));
    return at;
  }

  static void Both(std::string_view line, Edit* edit) {
    edit->search += std::string(line) + '\n';
    edit->replace += std::string(line) + '\n';
  }

  static void Take(std::string_view line, Edit* edit) {
    const std::string rest(line.substr(1));
    if (line[0] == '-') {
      edit->search += rest + '\n';
    } else if (line[0] == '+') {
      edit->replace += rest + '\n';
    } else if (line[0] == ' ') {
      Both(rest, edit);
    } else if (line[0] == '\t') {
      Both(line, edit);
    }  // "\ No newline at end of file" says nothing
  }

  Lines lines_;
  std::string file_;
  bool creates_ = false;
  std::vector<FileEdit> edits_;
};

}  // namespace

bool IsUnifiedDiff(std::string_view text) {
  const Lines lines = LinesOf(text);
  bool hunk = false, marked = false;
  for (const std::string_view line : lines) {
    hunk = hunk || line.starts_with("@@ ");
    marked = marked || (hunk && (line.starts_with("+") || line.starts_with("-")));
  }
  return marked;
}

Result<std::vector<FileEdit>> ReadUnifiedDiff(std::string_view text) { return Reader(text).Read(); }

}  // namespace warpsmith::prompts
