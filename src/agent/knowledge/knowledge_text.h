// A base as text that a version control system can compare: one JSON object a line, in canonical
// order (contents.h). The first line says how many lines follow and what their SHA-256 is, so that
// a text that was cut, at a line's end even, is no smaller base:
// {"lines":2,"sha256":"...","warpsmith_knowledge":1}. docs/files.md.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_TEXT_H_
#define WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_TEXT_H_

#include <string>
#include <string_view>

#include "agent/knowledge/facts.h"
#include "base/result.h"

namespace warpsmith::knowledge {

inline constexpr int kKnowledgeTextVersion = 1;

// Equal contents give equal text.
std::string ToText(const Contents& contents);

// Lines may be in any order. `source` (a file name) goes into errors, with the line. Refused:
// another version (kVersion), anything malformed or out of bounds, and lines that are not those
// that the first one tells of (kBadInput); a first line may also tell of none. zstd is unpacked
// first.
Result<Contents> ContentsFromText(std::string_view source, std::string_view text);

// The base that every new one begins with: states named after our bottlenecks, and techniques from
// CUDA's public documentation in our own words, with guesses at what they gain. No outcome in it.
std::string_view SeedText();  // data/knowledge/seed.jsonl, embedded
Contents Seed();

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_TEXT_H_
