// The few steps worth handing back: passed, the best first (RankOf), the earlier of equals first.
#ifndef WARPSMITH_SEARCH_BEST_STEPS_H_
#define WARPSMITH_SEARCH_BEST_STEPS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/protocol.h"
#include "core/reward.h"
#include "core/step.h"

namespace warpsmith::search {

class BestSteps {
 public:
  BestSteps(Mode mode, int keep, const RewardShape& reward);
  void Add(const Step& step);
  std::vector<Step> Take() { return std::move(steps_); }

 private:
  Mode mode_;
  size_t keep_;
  RewardShape reward_;
  std::vector<Step> steps_;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_BEST_STEPS_H_
