#include "search/best_steps.h"

#include <algorithm>

#include "core/ranking.h"

namespace warpsmith::search {

BestSteps::BestSteps(Mode mode, int keep)
    : mode_(mode), keep_(static_cast<size_t>(std::max(keep, 0))) {}

void BestSteps::Add(const Step& step) {
  const auto ratio = RankingRatio(step.verdict, mode_);
  if (!ratio.has_value() || keep_ == 0) return;
  const auto worse = std::find_if(steps_.begin(), steps_.end(), [&](const Step& other) {
    return *RankingRatio(other.verdict, mode_) < *ratio;
  });
  if (worse == steps_.end() && steps_.size() == keep_) return;
  steps_.insert(worse, step);
  if (steps_.size() > keep_) steps_.pop_back();
}

}  // namespace warpsmith::search
