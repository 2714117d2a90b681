// Hill climbing with random restarts: move to the first neighbour that is better, and when none is,
// start again from the best random point not climbed from yet.
#ifndef WARPSMITH_SEARCH_PROPOSERS_LOCAL_SEARCH_H_
#define WARPSMITH_SEARCH_PROPOSERS_LOCAL_SEARCH_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "search/proposers/search_log.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

class LocalSearch {
 public:
  static constexpr std::string_view kName = "local";
  LocalSearch(std::shared_ptr<const Terrain> terrain, uint64_t seed);
  // Unproposed neighbours of where it stands; what a batch has room for beyond them is filled with
  // random points, which are the starts of later climbs.
  std::vector<int> Next(int n);
  void Tell(int index, double score);

 private:
  void MoveTo(int index);
  void RestartIfStuck();
  int NextNeighbour();

  std::shared_ptr<const Terrain> terrain_;
  SearchLog log_;
  Random random_;
  int current_ = -1;            // where the climb stands; -1: nowhere yet
  std::vector<int> to_try_;     // its neighbours, in random order, from the back
  int neighbours_pending_ = 0;  // proposed from to_try_ and not told yet
  std::vector<int> starts_;     // random points told and not climbed from
  std::vector<bool> is_start_;
};

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_LOCAL_SEARCH_H_
