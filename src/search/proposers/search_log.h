// What a search has proposed and been told so far, over the indices of a space.
#ifndef WARPSMITH_SEARCH_PROPOSERS_SEARCH_LOG_H_
#define WARPSMITH_SEARCH_PROPOSERS_SEARCH_LOG_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace warpsmith::proposers {

// Higher is better. A candidate that failed in whatever way is worse than every one that ran.
inline constexpr double kFailedScore = -std::numeric_limits<double>::infinity();

class SearchLog {
 public:
  // `stream` names the random order in which DrawUnproposed walks the space.
  SearchLog(int size, uint64_t seed, std::string_view stream);

  bool Proposed(int index) const { return proposed_[index]; }
  double Score(int index) const { return score_[index]; }  // meaningful once told
  // Indices in the order in which their scores came.
  const std::vector<int>& told() const { return order_told_; }

  // An index may be proposed once, and told once after that.
  void Propose(int index);
  void Tell(int index, double score);

  // A random index that nobody proposed yet, now proposed; -1 when there is none.
  int DrawUnproposed();

 private:
  std::vector<bool> proposed_, told_;
  std::vector<double> score_;
  std::vector<int> order_told_;
  std::vector<int> shuffled_;
  size_t cursor_ = 0;  // everything before it in shuffled_ is proposed
};

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_SEARCH_LOG_H_
