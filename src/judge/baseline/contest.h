// Which of several is fastest: successive halving, with a second look at the last few. Knows
// nothing of devices, so that its decisions can be tested without one.
#ifndef WARPSMITH_JUDGE_BASELINE_CONTEST_H_
#define WARPSMITH_JUDGE_BASELINE_CONTEST_H_

#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace warpsmith::baseline {

// Raised whenever what a contest times, or how, or how it decides, changes: a choice of another
// version is made again. Version 1 timed one set of operands, replayed, for all modes.
inline constexpr int kContestVersion = 2;
// With the judge's protocol, by which entrants are timed: "j1/contest2".
std::string ContestId();

struct ContestRules {
  int first_rounds = 1;  // before the first halving
  int later_rounds = 2;  // before every other one
  int last_rounds = 3;   // of the finalists
  int finalists = 3;     // of each group
  // Who is so many times slower than the best of its group leaves at a halving, whatever its rank.
  double hopeless = 1.3;
};

struct ContestResult {
  int winner = 0;
  std::vector<int> of_groups;      // the winner of each group, by group; -1: the group has nobody
  std::vector<double> medians_us;  // of all of an entrant's times; those who left early have fewer
};

// `time_us(i)` times entrant i once. In a round everyone who is left is timed once, in an order
// drawn anew. Then the slower half of each group leaves, until `finalists` of a group are left;
// those meet in the last rounds. `groups`: of each entrant, from 0; at least one entrant. The
// winner is the group winner with the best median. The first error ends the contest.
Result<ContestResult> RunContest(const std::vector<int>& groups, const ContestRules& rules,
                                 Random& random, const std::function<Result<double>(int)>& time_us);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_CONTEST_H_
