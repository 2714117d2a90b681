#include "search/proposers/terrain.h"

#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace warpsmith::proposers {
namespace {

double LogOf(double predicted_us) {
  if (!(predicted_us > 0)) return std::numeric_limits<double>::infinity();
  return std::log(predicted_us);
}

}  // namespace

Terrain::Terrain(Space space, const CostModel& model, const ArmOf& arm_of)
    : space_(std::move(space)), neighbours_(space_.size()) {
  std::map<std::string, int> arm_numbers;
  std::map<std::tuple<std::string, std::string, int64_t>, int> level_numbers;
  for (const Point& point : space_.points()) {
    const int index = static_cast<int>(arm_.size());
    log_predicted_.push_back(model ? LogOf(model(point)) : 0.0);
    const std::string name = arm_of ? arm_of(point) : point.family;
    const int arm =
        arm_numbers.try_emplace(name, static_cast<int>(arm_numbers.size())).first->second;
    arm_.push_back(arm);
    if (arm == arms()) members_.emplace_back();
    members_[arm].push_back(index);
    std::vector<int>& levels = levels_of_.emplace_back();
    for (const auto& [parameter, value] : point.config) {
      const int next = static_cast<int>(level_numbers.size());
      levels.push_back(
          level_numbers.try_emplace({point.family, parameter, value}, next).first->second);
    }
  }
  levels_ = static_cast<int>(level_numbers.size());
}

const std::vector<int>& Terrain::Neighbours(int index) const {
  std::optional<std::vector<int>>& known = neighbours_[index];
  if (!known) known = space_.Neighbours(index);
  return *known;
}

}  // namespace warpsmith::proposers
