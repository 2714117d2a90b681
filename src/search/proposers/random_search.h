// The yardstick: every point once, in random order.
#ifndef WARPSMITH_SEARCH_PROPOSERS_RANDOM_SEARCH_H_
#define WARPSMITH_SEARCH_PROPOSERS_RANDOM_SEARCH_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "search/proposers/search_log.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

class RandomSearch {
 public:
  static constexpr std::string_view kName = "random";
  RandomSearch(const std::shared_ptr<const Terrain>& terrain, uint64_t seed)
      : log_(terrain->size(), seed, kName) {}
  std::vector<int> Next(int n) {
    std::vector<int> batch;
    while (static_cast<int>(batch.size()) < n) {
      const int index = log_.DrawUnproposed();
      if (index < 0) break;
      batch.push_back(index);
    }
    return batch;
  }
  void Tell(int index, double score) { log_.Tell(index, score); }

 private:
  SearchLog log_;
};

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_RANDOM_SEARCH_H_
