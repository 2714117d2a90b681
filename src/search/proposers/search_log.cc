#include "search/proposers/search_log.h"

#include <numeric>

#include "base/result.h"

namespace warpsmith::proposers {

SearchLog::SearchLog(int size, uint64_t seed, std::string_view stream)
    : proposed_(size), told_(size), score_(size, kFailedScore), shuffled_(size) {
  std::iota(shuffled_.begin(), shuffled_.end(), 0);
  Random(seed, stream).Shuffle(shuffled_);
}

void SearchLog::Propose(int index) {
  CHECK(!proposed_[index]);
  proposed_[index] = true;
}

void SearchLog::Tell(int index, double score) {
  CHECK(proposed_[index] && !told_[index]);
  told_[index] = true;
  score_[index] = score;
  order_told_.push_back(index);
}

int SearchLog::DrawUnproposed() {
  while (cursor_ < shuffled_.size() && proposed_[shuffled_[cursor_]]) ++cursor_;
  if (cursor_ == shuffled_.size()) return -1;
  const int index = shuffled_[cursor_++];
  Propose(index);
  return index;
}

}  // namespace warpsmith::proposers
