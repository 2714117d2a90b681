#include "search/tuning/proposer_comparison.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"

namespace warpsmith::proposers {
namespace {

using testing::ElementsAre;

// A landscape like a kernel family's: time = work / efficiency of the tile, a penalty away from the
// right depth, and 15 % of the points fail. The model knows the tile, not the depth, with 10 %
// noise.
struct Landscape {
  std::shared_ptr<const Terrain> terrain;
  std::vector<double> scores;
};

double TileTime(const Config& config) {
  const auto m = static_cast<double>(config.at("bm")), n = static_cast<double>(config.at("bn"));
  return 1 + std::abs(std::log2(m / 128)) + std::abs(std::log2(n / 256));
}

Landscape MakeLandscape() {
  std::vector<Point> points;
  for (int64_t bm : {32, 64, 128, 256}) {
    for (int64_t bn : {32, 64, 128, 256}) {
      for (int64_t stages = 2; stages <= 7; ++stages) {
        for (int64_t split : {1, 2, 4, 8}) {
          points.push_back({"f", {{"bm", bm}, {"bn", bn}, {"split", split}, {"stages", stages}}});
        }
      }
    }
  }
  Space space("synthetic", points);
  const auto noise = [](const Point& point, std::string_view stream) {
    return std::exp(0.1 * Random(1, PointName(point) + std::string(stream)).Normal());
  };
  Landscape landscape;
  for (const Point& point : points) {
    const double depth = std::abs(static_cast<double>(point.config.at("stages")) - 5);
    const double split = std::log2(static_cast<double>(point.config.at("split")));
    const double time = TileTime(point.config) * (1 + 0.08 * depth + 0.1 * split);
    const bool fails = Random(2, PointName(point)).Uniform() < 0.15;
    landscape.scores.push_back(fails ? kFailedScore : 1 / time);
  }
  landscape.terrain = std::make_shared<Terrain>(
      std::move(space),
      [&](const Point& point) { return TileTime(point.config) * noise(point, "model"); },
      [](const Point& point) {
        return std::to_string(point.config.at("bm")) + "x" + std::to_string(point.config.at("bn"));
      });
  return landscape;
}

double MedianOf(const std::vector<report::ProposerRow>& rows, std::string_view name,
                double fraction) {
  for (const report::ProposerRow& row : rows) {
    if (row.proposer == name && row.fraction == fraction) return row.median;
  }
  ADD_FAILURE() << "no row " << name;
  return 0;
}

TEST(CompareStrategies, GuidedBeatsRandomWhereTheModelIsInformative) {
  const Landscape landscape = MakeLandscape();
  const auto rows = CompareStrategies(landscape.terrain, landscape.scores, {.seeds = 30}).value();
  ASSERT_EQ(rows.size(), 6U);
  for (const double target : {0.95, 0.99}) {
    const double random = MedianOf(rows, "random", target);
    EXPECT_LT(MedianOf(rows, "guided", target), 0.5 * random);
    EXPECT_LT(MedianOf(rows, "local", target), random);
  }
}

TEST(CompareStrategies, RowsAreOneEvaluationCountASeedWithOrderedQuartiles) {
  const Landscape landscape = MakeLandscape();
  const auto rows = CompareStrategies(landscape.terrain, landscape.scores, {.seeds = 12}).value();
  ASSERT_EQ(rows.size(), 6U);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].seeds, 12);
    EXPECT_LE(rows[i].lower_quartile, rows[i].median);
    EXPECT_LE(rows[i].median, rows[i].upper_quartile);
    EXPECT_LE(rows[i / 2 * 2].median, rows[i].median);
  }
}

TEST(CompareStrategies, NothingMeasuredIsAnError) {
  const Landscape landscape = MakeLandscape();
  const std::vector<double> nothing(landscape.scores.size(), kFailedScore);
  const auto rows = CompareStrategies(landscape.terrain, nothing);
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, ErrorCode::kNothingMeasured);
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<int> values = {1, 2, 4, 8};
  EXPECT_THAT(
      (std::vector<double>{Quantile(values, 0), Quantile(values, 0.5), Quantile(values, 1)}),
      ElementsAre(1, 3, 8));
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.25), 7);
}

}  // namespace
}  // namespace warpsmith::proposers
