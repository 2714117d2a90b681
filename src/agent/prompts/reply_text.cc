#include "agent/prompts/reply_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/display_text.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::prompts {
namespace {

constexpr size_t kMaxReasonCharacters = 600;
constexpr std::array<std::string_view, 4> kThoughts = {"think", "thinking", "reasoning",
                                                       "scratchpad"};

std::string WithPlainLineEnds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

// The tag's name where the line begins with <name> of a thought.
std::optional<std::string_view> OpenedBy(std::string_view line) {
  for (const std::string_view name : kThoughts) {
    if (line.starts_with("<" + std::string(name) + ">")) return name;
  }
  return std::nullopt;
}

// Behind the first </name> of any thought at or after `from`.
std::optional<size_t> AfterClosing(std::string_view text, size_t from) {
  std::optional<size_t> first;
  for (const std::string_view name : kThoughts) {
    const std::string tag = "</" + std::string(name) + ">";
    const size_t at = text.find(tag, from);
    if (at != text.npos && (!first || at + tag.size() < *first)) first = at + tag.size();
  }
  return first;
}

bool IsFence(std::string_view line) { return line.starts_with("```") || line.starts_with("~~~"); }

// Thoughts begin on a line of their own outside of fences: code may hold such a tag in a string.
Result<std::string> WithoutThoughts(std::string_view text) {
  std::string kept;
  bool fenced = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = Trimmed(text.substr(at, end - at));
    if (IsFence(line)) fenced = !fenced;
    if (!fenced && OpenedBy(line)) {
      const auto after = AfterClosing(text, at);
      if (!after) return BadReply("the reply ends while the model still thinks");
      at = *after;
      continue;
    }
    kept += text.substr(at, end - at);
    at = end;
  }
  return kept;
}

// Servers that open the thought in the prompt send its end alone.
std::string_view AfterOrphan(std::string_view text) {
  const auto after = AfterClosing(text, 0);
  if (!after) return text;
  const size_t line = text.rfind('\n', *after - 1) + 1;
  const std::string_view before = text.substr(0, *after);
  const bool own_line = Trimmed(text.substr(line, *after - line)).starts_with("</");
  const bool opened = std::any_of(kThoughts.begin(), kThoughts.end(), [&](std::string_view name) {
    return before.find("<" + std::string(name) + ">") != before.npos;
  });
  return own_line && !opened ? text.substr(*after) : text;
}

}  // namespace

Result<std::string> CleanReply(std::string_view reply) {
  if (reply.size() > kMaxReplyBytes) {
    return BadReply("the reply has " + std::to_string(reply.size()) + " bytes, at most " +
                    std::to_string(kMaxReplyBytes) + " are read");
  }
  if (reply.starts_with("\xEF\xBB\xBF")) reply.remove_prefix(3);
  const std::string text = WithPlainLineEnds(ValidUtf8(reply));
  std::string clean = TRY(WithoutThoughts(AfterOrphan(text)));
  if (Trimmed(clean).empty()) return BadReply("the reply is empty");
  return clean;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Error BadReply(const std::string& reason) {
  return {ErrorCode::kBadInput, ForTerminal(reason, kMaxReasonCharacters),
          "ask again for the reply's format"};
}

namespace {

struct Fence {
  char sign = '`';
  size_t length = 0, indent = 0;
  std::string_view info;
};

std::optional<Fence> FenceIn(std::string_view line) {
  const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view rest = line.substr(indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return std::nullopt;
  const size_t length = std::min(rest.find_first_not_of(rest[0]), rest.size());
  const std::string_view info = Trimmed(rest.substr(length));
  if (length < 3 || (rest[0] == '`' && info.find('`') != info.npos)) return std::nullopt;
  return Fence{rest[0], length, indent, info};
}

std::string LanguageOf(std::string_view info) {
  std::string word;
  for (const char c : info) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '{' || c == ',') break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return NameInInfo(word) ? "" : word;
}

bool IsMarkdown(const Block& block) {
  return block.language == "markdown" || block.language == "md" || block.language == "text";
}

std::string_view WithoutIndent(std::string_view line, size_t most) {
  size_t indent = 0;
  while (indent < most && indent < line.size() && (line[indent] == ' ' || line[indent] == '\t')) {
    ++indent;
  }
  return line.substr(indent);
}

class Cutter {
 public:
  void Take(std::string_view line) {
    const auto fence = FenceIn(line);
    const bool same =
        fence && open_ && fence->sign == open_->sign && fence->length >= open_->length;
    if (!open_ && fence) {
      Open(*fence);
    } else if (same && fence->info.empty()) {
      End(true);
    } else if (same && NameOrLanguage(fence->info)) {
      if (IsMarkdown(block_)) block_.fenced = false;
      End(!block_.fenced);
      Open(*fence);
    } else {
      Append(line);
    }
  }

  std::vector<Block> Done() {
    End(!open_);
    return std::move(blocks_);
  }

 private:
  // What follows the signs looks like the beginning of a block rather than like its text.
  static bool NameOrLanguage(std::string_view info) {
    return info.size() < 80 && std::isalpha(static_cast<unsigned char>(info[0])) != 0;
  }

  void Open(const Fence& fence) {
    End(true);
    open_ = fence;
    block_ = {true, true, std::string(fence.info), LanguageOf(fence.info), above_, ""};
  }

  void Append(std::string_view line) {
    block_.text += open_ ? WithoutIndent(line, open_->indent) : line;
    block_.text += '\n';
    if (open_) return;
    const bool blank = Trimmed(line).empty();
    if (!blank) above_ = line;
    if (blank && last_blank_) above_.clear();
    last_blank_ = blank;
  }

  void End(bool closed) {
    block_.closed = closed;
    if (block_.fenced || !Trimmed(block_.text).empty()) blocks_.push_back(std::move(block_));
    if (open_) above_.clear();
    block_ = {};
    open_.reset();
  }

  std::vector<Block> blocks_;
  Block block_;
  std::optional<Fence> open_;
  std::string above_;
  bool last_blank_ = false;
};

}  // namespace

std::vector<Block> CutBlocks(std::string_view reply) {
  Cutter cutter;
  for (const std::string_view line : LinesOf(reply)) cutter.Take(line);
  return cutter.Done();
}

namespace {

constexpr std::array<std::string_view, 8> kSourceExtensions = {".cu",  ".cuh", ".h",  ".hh",
                                                               ".hpp", ".inl", ".cc", ".cpp"};
// What a model may call a file without our taking it: so that we can say that we do not.
constexpr std::array<std::string_view, 10> kOtherExtensions = {
    ".json", ".toml", ".c", ".py", ".txt", ".md", ".sh", ".ptx", ".yaml", ".cmake"};
constexpr std::array<std::string_view, 4> kPlanNames = {"plan.json", "plan.toml", "candidate.json",
                                                        "candidate.toml"};

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}
bool IsInName(char c) { return IsPlain(c) || c == '/' || c == '\\' || c == '~'; }

bool HasExtension(std::string_view name, std::string_view extension) {
  return name.size() > extension.size() && name.ends_with(extension);
}
bool LooksLikeFile(std::string_view name) {
  return HasSourceExtension(name) ||
         std::any_of(kOtherExtensions.begin(), kOtherExtensions.end(),
                     [&](std::string_view one) { return HasExtension(name, one); });
}

// Maximal runs of a name's characters, without what ends a sentence.
std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    if (!IsInName(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && IsInName(line[at])) ++at;
    std::string_view word = line.substr(begin, at - begin);
    while (!word.empty() && word.back() == '.') word.remove_suffix(1);
    words.push_back(word);
  }
  return words;
}

// Words that stand beside a name in a label: "File: a.cu", "// path: a.cu", "a.cu (updated)".
bool IsLabelWord(std::string_view word) {
  constexpr std::array<std::string_view, 16> kWords = {
      "file", "filename", "path",  "name", "title",  "source",   "new",  "updated",
      "full", "complete", "begin", "the",  "kernel", "modified", "code", "header"};
  if (std::all_of(word.begin(), word.end(),
                  [](char c) { return !std::isalpha(static_cast<unsigned char>(c)); })) {
    return true;  // "1.", "--", "//"
  }
  return std::find(kWords.begin(), kWords.end(), AsciiLower(word)) != kWords.end();
}

}  // namespace

bool HasSourceExtension(std::string_view name) {
  return std::any_of(kSourceExtensions.begin(), kSourceExtensions.end(),
                     [&](std::string_view one) { return HasExtension(name, one); });
}

Status CheckSourceName(std::string_view name) {
  const std::string shown = "'" + ForTerminal(name, kMaxFileNameBytes) + "'";
  if (name.find_first_of("/\\~") != name.npos || name == "..") {
    return BadReply(shown + " is a path: sources have plain names");
  }
  if (name.empty() || name.size() > kMaxFileNameBytes || name.front() == '.' ||
      name.front() == '-' || !std::all_of(name.begin(), name.end(), IsPlain)) {
    return BadReply(shown + " is no name for a source: letters, digits, '_', '-', '.', at most " +
                    std::to_string(kMaxFileNameBytes));
  }
  if (!HasSourceExtension(name))
    return BadReply(shown + " is no CUDA or C++ source by its extension");
  return {};
}

bool IsPlanName(std::string_view name) {
  return std::find(kPlanNames.begin(), kPlanNames.end(), name) != kPlanNames.end();
}

std::optional<std::string> NameInInfo(std::string_view info) {
  for (const std::string_view word : SplitWords(info)) {
    if (LooksLikeFile(word)) return std::string(word);
  }
  return std::nullopt;
}

std::optional<std::string> NameAsLabel(std::string_view line) {
  if (line.size() > 2 * kMaxFileNameBytes + 64 || line.find('<') != line.npos ||
      line.find('"') != line.npos) {
    return std::nullopt;  // an #include, most likely
  }
  std::optional<std::string> name;
  for (const std::string_view word : SplitWords(line)) {
    if (LooksLikeFile(word) && !name) {
      name = std::string(word);
    } else if (!IsLabelWord(word)) {
      return std::nullopt;
    }
  }
  return name;
}

std::optional<std::string> NameInSentence(std::string_view line) {
  std::optional<std::string> name;
  for (const std::string_view word : SplitWords(line)) {
    if (!LooksLikeFile(word) || word.find_first_of("/\\~") != word.npos) continue;
    if (name && *name != word) return std::nullopt;
    name = std::string(word);
  }
  return name;
}

}  // namespace warpsmith::prompts
