// The base as a block of a prompt: what bears on the situation first, and no longer than it may be.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_RENDER_H_
#define WARPSMITH_AGENT_KNOWLEDGE_RENDER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/knowledge/knowledge_base.h"

namespace warpsmith::knowledge {

// --- Text that a model or a stranger wrote, as it may stand in a prompt: data, whatever it says.

// A JSON string literal of printable ASCII on one line, in which nothing could close a Markdown
// fence, an XML tag or a template's variable: those characters are \u escapes. Of longer text the
// beginning, and "..." inside the quotes.
std::string Quoted(std::string_view text, size_t most_bytes);

// --- Gains as people and models read them: old time / new time.

std::string RatioText(double ratio);    // "1.08x"
std::string GainText(double log_gain);  // the same of exp(log_gain)

inline constexpr size_t kPromptBytes = 50'000;
// What so many tokens surely hold of text like ours.
size_t BytesOfTokens(size_t tokens);

// What is rendered, from one view of a base.
struct Page {
  Situation situation;
  std::vector<State> states;
  std::vector<Technique> techniques;
  std::vector<Cell> cells;    // of the state and its coarser one
  std::vector<Cell> totals;   // of all states, over all contexts: theirs are empty
  std::vector<Prior> priors;  // of all states
  std::vector<Note> notes;    // a few each on the state, its techniques, and other states
  Blocked blocked;
};
Result<Page> PageFor(KnowledgeBase& base, const Situation& situation);

// Sections in this order, each entry a line, the last ones left out where the budget ends (a line
// says how many): techniques for the situation's state, most promising first, with their notes;
// other notes on the state; techniques without evidence for it; other states, those of the same
// primary bottleneck first and then those with more evidence. Never longer than `most_bytes`. Equal
// pages give equal text. Foreign text is quoted (Quoted, above) and cut.
std::string Render(const Page& page, size_t most_bytes = kPromptBytes);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_RENDER_H_
