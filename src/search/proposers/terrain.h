// What a search knows of a space before anything in it is measured: who neighbours whom, what a
// cost model predicts, and which points belong together.
#ifndef WARPSMITH_SEARCH_PROPOSERS_TERRAIN_H_
#define WARPSMITH_SEARCH_PROPOSERS_TERRAIN_H_

#include <functional>
#include <optional>
#include <string>
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

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_TERRAIN_H_
