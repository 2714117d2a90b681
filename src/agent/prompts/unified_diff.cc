#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/prompts/edit_reader.h"
#include "agent/prompts/reply_text.h"

namespace warpsmith::prompts {
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
