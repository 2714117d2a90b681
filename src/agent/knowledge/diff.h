// How two bases differ.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_DIFF_H_
#define WARPSMITH_AGENT_KNOWLEDGE_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/knowledge/contents.h"
#include "agent/knowledge/facts.h"

namespace warpsmith::knowledge {

struct NameChanges {
  std::vector<std::string> removed, added, changed;  // by name; changed: described otherwise
  bool operator==(const NameChanges&) const = default;
};

struct CellChange {
  CellKey key;
  Tally before, after;
};

struct Difference {
  NameChanges states, techniques, priors;  // a prior's name: "state + technique"
  std::vector<CellChange> cells;           // whose statistics differ
  int64_t outcomes_removed = 0, outcomes_added = 0, outcomes_shared = 0;  // by identity
  int64_t notes_removed = 0, notes_added = 0;
};

// From a to b, both in canonical form.
Difference Differences(const Contents& a, const Contents& b);
bool Empty(const Difference& difference);

// One line a difference, '-', '+' or '~' first; empty for none.
std::string DifferenceText(const Difference& difference);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_DIFF_H_
