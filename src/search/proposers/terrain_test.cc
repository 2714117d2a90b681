#include "search/proposers/terrain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace warpsmith::proposers {
namespace {

Space Grid(int64_t edge) {
  std::vector<Point> points;
  for (int64_t x = 0; x < edge; ++x) {
    for (int64_t y = 0; y < edge; ++y) points.push_back({"grid", {{"x", x}, {"y", y}}});
  }
  return Space("grid", std::move(points));
}

double Distance(const Point& point) {
  return 1.0 + static_cast<double>(point.config.at("x") + point.config.at("y"));
}

TEST(ClosedSubsetTest, LeavesASmallSpaceAlone) {
  EXPECT_EQ(ClosedSubset(Grid(3), Distance, 9).points(), Grid(3).points());
}

TEST(ClosedSubsetTest, KeepsThePromisingCornerWhole) {
  const Space subset = ClosedSubset(Grid(8), Distance, 16);
  EXPECT_LE(subset.size(), 16u);
  EXPECT_GE(subset.size(), 12u);
  EXPECT_GE(subset.Find({"grid", {{"x", 0}, {"y", 0}}}), 0);
  std::set<int64_t> xs, ys;
  for (const Point& point : subset.points()) {
    xs.insert(point.config.at("x"));
    ys.insert(point.config.at("y"));
  }
  EXPECT_EQ(subset.size(), xs.size() * ys.size()) << "a hole in the lattice";
}

TEST(ClosedSubsetTest, SharesTheLimitBetweenFamilies) {
  std::vector<Point> points = Grid(8).points();
  for (int64_t x = 0; x < 4; ++x) points.push_back({"line", {{"x", x}}});
  const Space subset = ClosedSubset(
      Space("two", std::move(points)),
      [](const Point& point) {
        return point.family == "line" ? 1e6 : Distance(point);  // a family that the model dislikes
      },
      20);
  EXPECT_LE(subset.size(), 20u);
  EXPECT_EQ(std::count_if(subset.points().begin(), subset.points().end(),
                          [](const Point& point) { return point.family == "line"; }),
            4);
}

TEST(ClosedSubsetTest, StopsWhereOnePointAParameterIsLeft) {
  EXPECT_EQ(ClosedSubset(Grid(4), {}, 1).size(), 1u);
}

}  // namespace
}  // namespace warpsmith::proposers
