#include "search/best_steps.h"

#include <algorithm>

namespace warpsmith::search {

BestSteps::BestSteps(Mode mode, int keep, const RewardShape& reward)
    : mode_(mode), keep_(static_cast<size_t>(std::max(keep, 0))), reward_(reward) {}

void BestSteps::Add(const Step& step) {
  const auto rank = RankOf(step, mode_, reward_);
  if (!rank.has_value() || keep_ == 0) return;
  const auto worse = std::find_if(steps_.begin(), steps_.end(), [&](const Step& other) {
    return *RankOf(other, mode_, reward_) < *rank;
  });
  if (worse == steps_.end() && steps_.size() == keep_) return;
  steps_.insert(worse, step);
  if (steps_.size() > keep_) steps_.pop_back();
}

}  // namespace warpsmith::search
