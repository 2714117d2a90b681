// A model's reply as text that can be read line by line.
#ifndef WARPSMITH_AGENT_PROMPTS_REPLY_TEXT_H_
#define WARPSMITH_AGENT_PROMPTS_REPLY_TEXT_H_

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

std::string_view Trimmed(std::string_view text);

// What a reply that holds no candidate is refused with: one line, and what to ask for next.
Error BadReply(const std::string& reason);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_REPLY_TEXT_H_
