// Foreign text (kernel names, a compiler's log, a tool's messages) as it may be shown: data,
// whatever it says. A candidate that reaches the screen could write its own verdict over ours.
#ifndef WARPSMITH_BASE_DISPLAY_TEXT_H_
#define WARPSMITH_BASE_DISPLAY_TEXT_H_

#include <string>
#include <string_view>

namespace warpsmith {

// One line of valid UTF-8 without control characters, terminal escapes, or characters that reorder
// or hide what follows them; each becomes '?'. Longer text is cut and ends in "...".
std::string ForTerminal(std::string_view text, size_t most_characters = 120);

// The same for a text of many lines, uncut: line ends stay, and a tab is a space.
std::string LinesForTerminal(std::string_view text);

// A JSON string literal of ASCII alone in which no character could close a Markdown fence, an XML
// tag or a template's variable: those are \u escapes. Cut like ForTerminal.
std::string QuotedForModel(std::string_view text, size_t most_characters = 200);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_DISPLAY_TEXT_H_
