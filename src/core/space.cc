#include "core/space.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

namespace warpsmith {
namespace {

using ValuesByFamily = std::map<std::string, std::map<std::string, std::set<int64_t>>>;

std::map<std::string, std::vector<Parameter>> ParametersOf(const std::vector<Point>& points) {
  ValuesByFamily seen;
  for (const Point& point : points) {
    auto& family = seen[point.family];
    for (const auto& [name, value] : point.config) family[name].insert(value);
  }
  std::map<std::string, std::vector<Parameter>> parameters;
  for (const auto& [family, names] : seen) {
    for (const auto& [name, values] : names) {
      parameters[family].push_back({name, {values.begin(), values.end()}});
    }
  }
  return parameters;
}

}  // namespace

std::string PointName(const Point& point) {
  constexpr size_t kUsualBytes = 320;  // spaces of thousands of points are read at every start
  std::string name;
  name.reserve(kUsualBytes);
  name += point.family;
  std::array<char, 24> digits{};
  for (const auto& [parameter, value] : point.config) {
    name += ' ';
    name += parameter;
    name += '=';
    name.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  }
  return name;
}

Space::Space(std::string name, std::vector<Point> points)
    : name_(std::move(name)), points_(std::move(points)), parameters_(ParametersOf(points_)) {
  index_.reserve(points_.size());
  for (size_t i = 0; i < points_.size(); ++i) {
    const bool distinct = index_.emplace(PointName(points_[i]), static_cast<int>(i)).second;
    CHECK(distinct);
  }
}

int Space::Find(const Point& point) const {
  const auto found = index_.find(PointName(point));
  return found == index_.end() ? -1 : found->second;
}

std::vector<int> Space::Neighbours(int index) const {
  const Point& centre = points_.at(static_cast<size_t>(index));
  std::vector<int> neighbours;
  const auto family = parameters_.find(centre.family);
  if (family == parameters_.end()) return neighbours;  // without parameters
  for (const Parameter& parameter : family->second) {
    const auto own = centre.config.find(parameter.name);
    if (own == centre.config.end()) continue;
    const auto at = std::ranges::lower_bound(parameter.values, own->second);
    Point moved = centre;
    const auto add = [&](int64_t value) {
      moved.config[parameter.name] = value;
      const int found = Find(moved);
      if (found >= 0) neighbours.push_back(found);
    };
    if (at != parameter.values.begin()) add(*(at - 1));
    if (at + 1 != parameter.values.end()) add(*(at + 1));
  }
  return neighbours;
}

}  // namespace warpsmith
