// What a search knows of a space before anything in it is measured: who neighbours whom, what a
// cost model predicts, and which points belong together.
#ifndef WARPSMITH_SEARCH_PROPOSERS_TERRAIN_H_
#define WARPSMITH_SEARCH_PROPOSERS_TERRAIN_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/space.h"

namespace warpsmith::proposers {

// Predicted microseconds of a point. Only the order and the ratios of predictions matter.
using CostModel = std::function<double(const Point&)>;
// The name of a point's arm: points that share one are expected to be fast or slow together.
using ArmOf = std::function<std::string(const Point&)>;

// Many searches may share one terrain, one after the other: it remembers neighbours it has looked
// up, so it is not thread-safe.
class Terrain {
 public:
  // Without a model every point is predicted alike; without `arm_of` a family is an arm.
  explicit Terrain(Space space, const CostModel& model = {}, const ArmOf& arm_of = {});

  const Space& space() const { return space_; }
  int size() const { return static_cast<int>(space_.size()); }
  const std::vector<int>& Neighbours(int index) const;

  // Natural logarithm of the predicted time; infinite where the model gives no positive number.
  double LogPredicted(int index) const { return log_predicted_[index]; }
  int Arm(int index) const { return arm_[index]; }
  int arms() const { return static_cast<int>(members_.size()); }
  const std::vector<int>& Members(int arm) const { return members_[arm]; }
  // The point's parameter values as numbers in [0, levels()): one for each (family, parameter,
  // value).
  const std::vector<int>& Levels(int index) const { return levels_of_[index]; }
  int levels() const { return levels_; }

 private:
  Space space_;
  mutable std::vector<std::optional<std::vector<int>>> neighbours_;
  std::vector<double> log_predicted_;
  std::vector<int> arm_;
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<int>> levels_of_;
  int levels_ = 0;
};

// --- What a search has proposed and been told so far, over the indices of a space.

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

// --- A smaller space that is whole in itself: what is left after values of parameters have been
// struck out, so that neighbours of a point are still one step away.

// Every family gets an equal share of `limit` (what a small one leaves goes to the others), because
// a model compares families less well than members of one. In a family, the values whose best
// predicted point is the slowest are struck out, one at a time, until the share is kept; a
// parameter keeps at least one value. The order of points is kept. `limit` >= 1; a space that is
// small enough is returned as it is.
Space ClosedSubset(const Space& space, const CostModel& model, size_t limit);

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_TERRAIN_H_
