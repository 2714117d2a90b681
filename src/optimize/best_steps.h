// The few steps worth handing back: passed, by falling ratio to the bar (RankingRatio); the earlier
// of equals first.
#ifndef WARPSMITH_OPTIMIZE_BEST_STEPS_H_
#define WARPSMITH_OPTIMIZE_BEST_STEPS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/protocol.h"
#include "core/step.h"

namespace warpsmith::optimize {

class BestSteps {
 public:
  BestSteps(Mode mode, int keep);
  void Add(const Step& step);
  std::vector<Step> Take() { return std::move(steps_); }

 private:
  Mode mode_;
  size_t keep_;
  std::vector<Step> steps_;
};

}  // namespace warpsmith::optimize

#endif  // WARPSMITH_OPTIMIZE_BEST_STEPS_H_
