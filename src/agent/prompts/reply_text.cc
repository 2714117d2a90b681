#include "agent/prompts/reply_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/display_text.h"
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

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

Error BadReply(const std::string& reason) {
  return {ErrorCode::kBadInput, ForTerminal(reason, kMaxReasonCharacters),
          "ask again for the reply's format"};
}

}  // namespace warpsmith::prompts
