// Which of several is fastest: rounds in random order, medians, the hopeless dropped after the
// first round. Knows nothing of devices, so that its decisions can be tested without one.
#ifndef WARPSMITH_JUDGE_BASELINE_CONTEST_H_
#define WARPSMITH_JUDGE_BASELINE_CONTEST_H_

#include <functional>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace warpsmith::baseline {

inline constexpr double kHopelessFactor = 1.3;  // times the first round's best

struct ContestResult {
  int winner = 0;
  std::vector<double> medians_us;  // of each contender's rounds; the hopeless had one
};

// `time_us(i)` times contender i once. `rounds` >= 1, `contenders` >= 1. The first error ends the
// contest. `groups`: of each contender; who is hopeless is so beside the best of its own group.
// Empty: all are of one.
Result<ContestResult> RunContest(int contenders, int rounds, Random& random,
                                 const std::function<Result<double>(int)>& time_us,
                                 const std::vector<int>& groups = {});

double Median(std::vector<double> values);  // of at least one

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_CONTEST_H_
