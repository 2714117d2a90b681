// What a candidate changed, as lines that a model reads.
#ifndef WARPSMITH_AGENT_PROMPTS_LINE_DIFF_H_
#define WARPSMITH_AGENT_PROMPTS_LINE_DIFF_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace warpsmith::prompts {

// Lines taken out ("-") and put in ("+") with two lines around each change, "@@" between changes
// that lie apart; empty for equal texts. Takes time in proportion to the product of the lines that
// differ, so from a few thousand on all of them are shown as replaced.
std::string LineDiff(std::string_view before, std::string_view after);

// Of each file that differs, under its name; at most `most_bytes`, and then it says that more
// follows.
std::string SourcesDiff(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after, size_t most_bytes);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_LINE_DIFF_H_
