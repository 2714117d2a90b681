#include "propose/search/closed_subset.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

namespace warpsmith::propose {
namespace {

struct Scored {
  Point point;
  double predicted_us = 0;
};

using ParameterKey = std::pair<std::string, std::string>;  // family, parameter
using Values = std::map<int64_t, double>;                  // value -> best predicted time

std::map<ParameterKey, Values> BestByValue(const std::vector<Scored>& points) {
  std::map<ParameterKey, Values> best;
  for (const Scored& scored : points) {
    for (const auto& [name, value] : scored.point.config) {
      const auto [entry, added] =
          best[{scored.point.family, name}].try_emplace(value, scored.predicted_us);
      if (!added) entry->second = std::min(entry->second, scored.predicted_us);
    }
  }
  return best;
}

// False when no parameter has two values left.
bool StrikeSlowest(std::vector<Scored>& points) {
  double slowest_us = -1;
  ParameterKey key;
  int64_t struck = 0;
  for (const auto& [parameter, values] : BestByValue(points)) {
    if (values.size() < 2) continue;
    for (const auto& [value, best_us] : values) {
      if (best_us > slowest_us)
        std::tie(slowest_us, key, struck) = std::tuple(best_us, parameter, value);
    }
  }
  if (slowest_us < 0) return false;
  std::erase_if(points, [&](const Scored& scored) {
    if (scored.point.family != key.first) return false;
    const auto found = scored.point.config.find(key.second);
    return found != scored.point.config.end() && found->second == struck;
  });
  return true;
}

}  // namespace

Space ClosedSubset(const Space& space, const CostModel& model, size_t limit) {
  CHECK(limit >= 1);
  if (space.size() <= limit) return space;
  std::vector<Scored> points;
  for (const Point& point : space.points()) {
    const double predicted_us = model ? model(point) : 1.0;
    points.push_back({point, predicted_us > 0 ? predicted_us : std::numeric_limits<double>::max()});
  }
  while (points.size() > limit && StrikeSlowest(points)) {
  }
  std::vector<Point> kept;
  for (Scored& scored : points) kept.push_back(std::move(scored.point));
  return Space(space.name(), std::move(kept));
}

}  // namespace warpsmith::propose
