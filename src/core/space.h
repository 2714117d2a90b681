// A parametric family's legal configurations, as data: what the search proposers walk over, and
// what a recording stores whole.
#ifndef WARPSMITH_CORE_SPACE_H_
#define WARPSMITH_CORE_SPACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"

namespace warpsmith {

struct Parameter {
  std::string name;
  std::vector<int64_t> values;  // ascending
};

struct Point {
  std::string family;
  Config config;
  bool operator==(const Point&) const = default;
};
// "wgmma bm=128 bn=256 ...": parameters in alphabetical order. Unique in a space.
std::string PointName(const Point& point);

class Space {
 public:
  Space() = default;
  // Points must be distinct; their order is kept (it is the index proposers speak of).
  Space(std::string name, std::vector<Point> points);

  const std::string& name() const { return name_; }
  const std::vector<Point>& points() const { return points_; }
  size_t size() const { return points_.size(); }
  // Index of a point, or -1.
  int Find(const Point& point) const;
  // Points of the same family that differ in exactly one parameter, by one step among the values
  // that parameter takes in this space.
  std::vector<int> Neighbours(int index) const;

 private:
  std::string name_;
  std::vector<Point> points_;
  std::unordered_map<std::string, int> index_;
  std::map<std::string, std::vector<Parameter>> parameters_;  // family -> values seen
};

// Makes the candidate of a point: from the live family, or from a recording's stored sources.
using CandidateMaker = std::function<Result<Candidate>(const Point&)>;

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_SPACE_H_
