// A reply cut at its code fences.
#ifndef WARPSMITH_AGENT_PROMPTS_REPLY_BLOCKS_H_
#define WARPSMITH_AGENT_PROMPTS_REPLY_BLOCKS_H_

#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::prompts {

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

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_REPLY_BLOCKS_H_
