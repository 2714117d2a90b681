#include "search/proposers/local_search.h"

#include <algorithm>
#include <utility>

namespace warpsmith::proposers {

LocalSearch::LocalSearch(std::shared_ptr<const Terrain> terrain, uint64_t seed)
    : terrain_(std::move(terrain)),
      log_(terrain_->size(), seed, kName),
      random_(seed, "local/neighbours"),
      is_start_(terrain_->size()) {}

void LocalSearch::MoveTo(int index) {
  current_ = index;
  to_try_ = terrain_->Neighbours(index);
  random_.Shuffle(to_try_);
}

void LocalSearch::RestartIfStuck() {
  for (;;) {
    while (!to_try_.empty() && log_.Proposed(to_try_.back())) to_try_.pop_back();
    const bool stuck = to_try_.empty() && neighbours_pending_ == 0;
    if (!stuck || starts_.empty()) return;
    const auto best = std::max_element(starts_.begin(), starts_.end(), [this](int a, int b) {
      return log_.Score(a) < log_.Score(b);
    });
    const int start = *best;
    starts_.erase(best);
    MoveTo(start);
  }
}

int LocalSearch::NextNeighbour() {
  RestartIfStuck();
  while (!to_try_.empty()) {
    const int index = to_try_.back();
    to_try_.pop_back();
    if (log_.Proposed(index)) continue;
    log_.Propose(index);
    ++neighbours_pending_;
    return index;
  }
  return -1;
}

std::vector<int> LocalSearch::Next(int n) {
  std::vector<int> batch;
  while (static_cast<int>(batch.size()) < n) {
    int index = NextNeighbour();
    if (index < 0) {
      index = log_.DrawUnproposed();
      if (index < 0) break;
      is_start_[index] = true;
    }
    batch.push_back(index);
  }
  return batch;
}

void LocalSearch::Tell(int index, double score) {
  log_.Tell(index, score);
  if (is_start_[index]) {
    if (score > kFailedScore) starts_.push_back(index);
    return;
  }
  --neighbours_pending_;
  if (score > log_.Score(current_)) MoveTo(index);
}

}  // namespace warpsmith::proposers
