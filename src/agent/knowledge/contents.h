// All that a base holds, as a value: what is exported, imported, merged and compared.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_CONTENTS_H_
#define WARPSMITH_AGENT_KNOWLEDGE_CONTENTS_H_

#include <vector>

#include "agent/knowledge/facts.h"

namespace warpsmith::knowledge {

// In canonical form (InOrder): sorted, each identity once.
struct Contents {
  std::vector<State> states;          // by name
  std::vector<Technique> techniques;  // by name
  std::vector<Prior> priors;          // by state, technique
  std::vector<Outcome> outcomes;      // by evidence, state, technique
  std::vector<Note> notes;
};

// Which of two descriptions of one thing stays: the same, whichever comes first.
// A described one, then a known (documented) one, then the first in byte order.
const State& Preferred(const State& a, const State& b);
const Technique& Preferred(const Technique& a, const Technique& b);
const Prior& Preferred(const Prior& a, const Prior& b);

// kBadInput: one piece of evidence is told in two ways. Which of them is right, we cannot know.
Error Contradiction(const Outcome& a, const Outcome& b);

// Sorted, each identity once.
Result<Contents> InOrder(Contents contents);

// Both, what they share once. In either order, any grouping, and with itself.
Result<Contents> Merged(Contents a, const Contents& b);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_CONTENTS_H_
