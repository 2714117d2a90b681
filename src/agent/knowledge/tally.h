// Counts and sums over outcomes. All integers: the same outcomes give the same tally in any order,
// added one by one or all at once.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_TALLY_H_
#define WARPSMITH_AGENT_KNOWLEDGE_TALLY_H_

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "agent/knowledge/facts.h"

namespace warpsmith::knowledge {

struct Tally {
  int64_t measured = 0;  // outcomes with a gain
  int64_t sum_e5 = 0, squares_e10 = 0;
  std::array<int64_t, kFailures> failures = {};
  bool operator==(const Tally&) const = default;
};
Tally TallyOf(const Outcome& outcome);
Tally operator+(const Tally& a, const Tally& b);
Tally operator-(const Tally& whole, const Tally& part);

int64_t Failed(const Tally& tally);
int64_t Attempts(const Tally& tally);
double MeanLogGain(const Tally& tally);      // 0 where nothing was measured
double VarianceLogGain(const Tally& tally);  // unbiased; 0 of fewer than two

// What a tally is about.
struct CellKey {
  std::string state, technique;
  Context context;
  auto operator<=>(const CellKey&) const = default;
};
struct Cell {
  CellKey key;
  Tally tally;
  bool operator==(const Cell&) const = default;
};

using Statistics = std::map<CellKey, Tally>;
Statistics StatisticsOf(std::span<const Outcome> outcomes);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_TALLY_H_
