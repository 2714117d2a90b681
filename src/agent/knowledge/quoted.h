// Text that a model or a stranger wrote, as it may stand in a prompt: data, whatever it says.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_QUOTED_H_
#define WARPSMITH_AGENT_KNOWLEDGE_QUOTED_H_

#include <string>
#include <string_view>

namespace warpsmith::knowledge {

// A JSON string literal of printable ASCII on one line, in which nothing could close a Markdown
// fence, an XML tag or a template's variable: those characters are \u escapes. Of longer text the
// beginning, and "..." inside the quotes.
std::string Quoted(std::string_view text, size_t most_bytes);

// --- Gains as people and models read them: old time / new time.

std::string RatioText(double ratio);    // "1.08x"
std::string GainText(double log_gain);  // the same of exp(log_gain)

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_QUOTED_H_
