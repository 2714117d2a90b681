#include "hgemm/neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "hgemm/family.h"

namespace warpsmith::hgemm {
namespace {

constexpr double kFarthest = 3;
constexpr double kExchanged = 0.25;  // what M and N exchanged are away, at least

// What depends on the sizes more than on what makes a kernel fast.
bool IsLoose(std::string_view parameter) {
  constexpr std::array<std::string_view, 9> kLoose = {
      "stages",         "raster_group", "raster_along_m", "overlap",     "stream_c",
      "producer_warps", "even_rounds",  "tma_store",      "l2_promotion"};
  return std::find(kLoose.begin(), kLoose.end(), parameter) != kLoose.end();
}

// How many parameters differ; nothing where one of them is not loose.
std::optional<int> Differences(const Config& one, const Config& other) {
  if (one.size() != other.size()) return std::nullopt;
  int count = 0;
  for (auto a = one.begin(), b = other.begin(); a != one.end(); ++a, ++b) {
    if (*a == *b) continue;
    if (a->first != b->first || !IsLoose(a->first)) return std::nullopt;
    ++count;
  }
  return count;
}

double Distance(const Problem& a, const Problem& b) {
  const auto factors = [](int64_t x, int64_t y) {
    return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  };
  return factors(a.m, b.m) + factors(a.n, b.n) + factors(a.k, b.k) / 2;
}

// The kernel for C's transpose. Only of tiles that are worked on alike both ways.
std::optional<Point> Exchanged(Point point) {
  if (point.family != "wgmma") return std::nullopt;
  std::swap(point.config["tile_m"], point.config["tile_n"]);
  std::swap(point.config["cluster_m"], point.config["cluster_n"]);
  point.config["raster_along_m"] = point.config["raster_along_m"] == 0 ? 1 : 0;
  return point;
}

struct Neighbour {
  double away;
  Point point;
};

std::vector<Neighbour> NeighboursOf(const Catalogue& catalogue, const Problem& problem) {
  std::vector<Neighbour> all;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.problem.layout != problem.layout || row.problem.dtype != problem.dtype) continue;
    const double away = Distance(row.problem, problem);
    const Point kernel = WithAllParameters(row.kernel);
    if (away <= kFarthest) all.push_back({away, kernel});
    Problem turned = row.problem;
    std::swap(turned.m, turned.n);
    const double turned_away = Distance(turned, problem) + kExchanged;
    std::optional<Point> exchanged = Exchanged(kernel);
    if (exchanged && turned_away <= kFarthest) all.push_back({turned_away, *std::move(exchanged)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.away < b.away; });
  return all;
}

// A space's points with every parameter, as recorded ones lack some, too.
std::vector<Point> CompletedPoints(const Space& space) {
  std::vector<Point> points;
  for (const Point& point : space.points()) points.push_back(WithAllParameters(point));
  return points;
}

// The index of the point that is the most like `point`, or -1.
int IndexOfMostLike(const std::vector<Point>& points, const Point& point) {
  int best = -1, fewest = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].family != point.family) continue;
    const std::optional<int> differences = Differences(points[i].config, point.config);
    if (!differences || (best >= 0 && *differences >= fewest)) continue;
    best = static_cast<int>(i);
    fewest = *differences;
  }
  return best;
}

}  // namespace

std::vector<Point> LikeWinnersNearby(const Catalogue& catalogue, const Problem& problem,
                                     const Space& space, size_t most) {
  std::vector<Point> points;
  const std::vector<Neighbour> neighbours = NeighboursOf(catalogue, problem);
  if (neighbours.empty()) return points;
  const std::vector<Point> completed = CompletedPoints(space);
  for (const Neighbour& neighbour : neighbours) {
    if (points.size() >= most && neighbour.away > 0) break;
    const int index = IndexOfMostLike(completed, neighbour.point);
    if (index < 0) continue;
    const Point& like = space.points()[index];
    if (std::find(points.begin(), points.end(), like) == points.end()) points.push_back(like);
  }
  return points;
}

Space WithOwnWinners(const Catalogue& catalogue, const Problem& problem, const Target& target,
                     const Space& space) {
  std::vector<Point> own;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.problem == problem && IsLegal(problem, target, row.kernel)) {
      own.push_back(WithAllParameters(row.kernel));
    }
  }
  if (own.empty()) return space;
  std::vector<Point> points = space.points(), completed = CompletedPoints(space);
  for (const Point& winner : own) {
    if (std::find(completed.begin(), completed.end(), winner) != completed.end()) continue;
    points.push_back(winner);
    completed.push_back(winner);
  }
  return Space(space.name(), std::move(points));
}

}  // namespace warpsmith::hgemm
