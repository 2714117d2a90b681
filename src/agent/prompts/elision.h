// Code that a model left out behind a comment.
#ifndef WARPSMITH_AGENT_PROMPTS_ELISION_H_
#define WARPSMITH_AGENT_PROMPTS_ELISION_H_

#include <optional>
#include <string>
#include <string_view>

namespace warpsmith::prompts {

// The first line of `text` that only stands for others, as "// ... rest unchanged ..." does, and
// that `before` does not have.
std::optional<std::string> ElidedLine(std::string_view text, std::string_view before);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_ELISION_H_
