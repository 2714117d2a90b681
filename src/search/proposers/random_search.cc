#include "search/proposers/random_search.h"

namespace warpsmith::proposers {

RandomSearch::RandomSearch(const std::shared_ptr<const Terrain>& terrain, uint64_t seed)
    : log_(terrain->size(), seed, kName) {}

std::vector<int> RandomSearch::Next(int n) {
  std::vector<int> batch;
  while (static_cast<int>(batch.size()) < n) {
    const int index = log_.DrawUnproposed();
    if (index < 0) break;
    batch.push_back(index);
  }
  return batch;
}

}  // namespace warpsmith::proposers
