// A model's reply as text that can be read line by line, and the names of files in it.
#ifndef WARPSMITH_AGENT_PROMPTS_REPLY_TEXT_H_
#define WARPSMITH_AGENT_PROMPTS_REPLY_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::prompts {

inline constexpr size_t kMaxReplyBytes = size_t{4} << 20;

// UTF-8 with LF line ends, without byte order mark and without what the model thought aloud
// (<think>, <thinking>, <reasoning>, <scratchpad>; a closing tag alone ends thoughts that began
// before the reply). kBadInput, in one line, for a reply that is too long, empty, or all thought.
Result<std::string> CleanReply(std::string_view reply);

// Lines without their line ends. The views live as long as the text.
std::vector<std::string_view> LinesOf(std::string_view text);

// What a reply that holds no candidate is refused with: one line, and what to ask for next.
Error BadReply(const std::string& reason);

// --- A reply cut at its code fences.

struct Block {
  bool fenced = false;
  bool closed = true;    // false: the reply ended inside
  std::string info;      // behind the opening fence
  std::string language;  // the first word of `info`, in lower case; empty where that is a file
  std::string above;     // the last line with text before a fence, if at most one blank line away
  std::string text;      // with the fence's own indentation taken off each line
};

// In the reply's order; stretches of prose without text are left out. Fences are runs of three or
// more backquotes or tildes. A fence that opens inside of a block ends it as not closed; around
// Markdown it makes the block prose, since models wrap whole replies that way.
std::vector<Block> CutBlocks(std::string_view reply);

// --- The names that a model gives to files. They are keys of a map, never paths.

inline constexpr size_t kMaxFileNameBytes = 64;

// Letters, digits, '_', '-' and '.'; not beginning with '.' or '-'; no folder; one of the
// extensions .cu .cuh .h .hh .hpp .inl .cc .cpp. kBadInput otherwise.
Status CheckSourceName(std::string_view name);

bool HasSourceExtension(std::string_view name);

// plan.json, plan.toml, candidate.json, candidate.toml
bool IsPlanName(std::string_view name);

// The name that a fence's info string gives: "cuda kernel.cu", "cuda:kernel.cu",
// "cpp title=\"kernel.cu\"", "kernel.cu". Unchecked: it may be a path.
std::optional<std::string> NameInInfo(std::string_view info);

// The name that a line gives which is nothing but a name: "### `kernel.cu`", "File: kernel.cu",
// "// kernel.cu", "/* kernel.cu */", "**kernel.cu**:". Unchecked.
std::optional<std::string> NameAsLabel(std::string_view line);

// The one name without a folder in a sentence: "Here is the new `kernel.cu`:".
std::optional<std::string> NameInSentence(std::string_view line);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_REPLY_TEXT_H_
