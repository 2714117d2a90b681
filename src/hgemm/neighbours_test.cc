#include "hgemm/neighbours.h"

#include <gmock/gmock.h>

#include "hgemm/family.h"
#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Point Wgmma(const WgmmaParameters& p) { return {"wgmma", ToConfig(p)}; }

CatalogueRow Row(const Problem& problem, const Point& kernel) {
  CatalogueRow row;
  row.problem = problem;
  row.kernel = kernel;
  return row;
}

const WgmmaParameters kPairs = {
    .tile_m = 128, .tile_n = 64, .stages = 9, .cluster_m = 2, .tma_store = 0, .overlap = 2};

// What a shape's own winner comes to in `space`.
std::vector<Point> Alike(const Space& space, const Point& winner) {
  const Problem problem = {512, 2048, 8192, Layout::kTN};
  return LikeWinnersNearby(Catalogue{{Row(problem, winner)}}, problem, space, 1);
}

TEST(LikeWinnersNearby, TakesThePointItselfOrOneThatDiffersInLooseThingsAlone) {
  WgmmaParameters deep = kPairs, other = kPairs, split = kPairs;
  deep.stages = 7;
  other.stages = 7, other.raster_group = 16;
  split.splits = 2;
  const Space space("s", {Wgmma(other), Wgmma(deep), Wgmma(split)});
  EXPECT_THAT(Alike(space, Wgmma(split)), ElementsAre(Wgmma(split)));
  EXPECT_THAT(Alike(space, Wgmma(kPairs)), ElementsAre(Wgmma(deep)));
  // One that was recorded before a parameter was there.
  Point old = Wgmma(split);
  old.config.erase("direct_load");
  EXPECT_THAT(Alike(Space("s", {old}), Wgmma(split)), ElementsAre(old));
  WgmmaParameters alone = kPairs;
  alone.cluster_m = 1;
  EXPECT_THAT(Alike(space, Wgmma(alone)), SizeIs(0));
  EXPECT_THAT(Alike(space, {"tiny", {{"warp_m", 16}}}), SizeIs(0));
}

// 512x2048x8192 was won by splits where nobody had tried the pairs that won at K = 4096.
TEST(LikeWinnersNearby, TakesTheNearestFirstAndNoneTwice) {
  const Problem problem = {512, 2048, 8192, Layout::kTN};
  const Space space = SpaceFor(problem, {});
  WgmmaParameters far = kPairs, turned = kPairs, farther = kPairs;
  far.cluster_m = 1;
  farther.cluster_m = farther.cluster_n = 1, farther.tile_m = 64, farther.consumers = 1;
  turned.tile_m = 64, turned.tile_n = 128, turned.consumers = 1;
  const Catalogue catalogue{{Row({512, 2048, 4096, Layout::kTN}, Wgmma(kPairs)),
                             Row({64, 64, 64, Layout::kTN}, Wgmma(farther)),
                             Row({1024, 2048, 4096, Layout::kTN}, Wgmma(far)),
                             Row({512, 2048, 2048, Layout::kTN}, Wgmma(kPairs)),
                             Row({512, 2048, 8192, Layout::kNN}, Wgmma(turned))}};
  const std::vector<Point> points = LikeWinnersNearby(catalogue, problem, space, 8);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].config.at("cluster_m"), 2);
  EXPECT_EQ(points[1].config.at("cluster_m"), 1);
  for (const Point& point : points) EXPECT_GE(space.Find(point), 0);
  EXPECT_THAT(Alike(space, Wgmma(farther)), SizeIs(1));  // it is only too far away
  EXPECT_THAT(LikeWinnersNearby(catalogue, problem, space, 1), SizeIs(1));
  EXPECT_THAT(LikeWinnersNearby({}, problem, space, 8), SizeIs(0));
}

TEST(LikeWinnersNearby, ExchangesRowsAndColumns) {
  const Problem problem = {2048, 512, 8192, Layout::kTN};
  WgmmaParameters wide = kPairs;
  wide.consumers = 1;
  const Catalogue catalogue{{Row({512, 2048, 8192, Layout::kTN}, Wgmma(wide))}};
  const std::vector<Point> points = LikeWinnersNearby(catalogue, problem, SpaceFor(problem, {}), 8);
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_EQ(points[0].config.at("tile_m"), 64);
  EXPECT_EQ(points[0].config.at("tile_n"), 128);
  EXPECT_EQ(points[0].config.at("cluster_n"), 2);
}

TEST(LikeWinnersNearby, HasAllOfItsOwn) {
  const Problem problem = {512, 2048, 8192, Layout::kTN};
  WgmmaParameters alone = kPairs, deep = kPairs;
  alone.cluster_m = 1;
  deep.stages = 7;
  CatalogueRow again = Row(problem, Wgmma(alone));
  again.device = "another";
  const Catalogue catalogue{
      {Row(problem, Wgmma(kPairs)), again, Row({512, 2048, 4096, Layout::kTN}, Wgmma(deep))}};
  const Space space("s", {Wgmma(alone), Wgmma(deep), Wgmma(kPairs)});
  EXPECT_THAT(LikeWinnersNearby(catalogue, problem, space, 1),
              ElementsAre(Wgmma(kPairs), Wgmma(alone)));
}

class WithOwnWinnersTest : public ::testing::Test {
 protected:
  std::vector<Point> Added(const std::vector<Point>& kernels, const Target& target = {}) {
    Catalogue catalogue;
    for (const Point& kernel : kernels) catalogue.rows.push_back(Row(problem_, kernel));
    catalogue.rows.push_back(Row({512, 2048, 4096, Layout::kTN}, Wgmma({})));
    const Space space = WithOwnWinners(catalogue, problem_, target, Space("s", {Wgmma(kPairs)}));
    EXPECT_EQ(space.name(), "s");
    EXPECT_EQ(space.points().front(), Wgmma(kPairs));
    return {space.points().begin() + 1, space.points().end()};
  }

  const Problem problem_ = {512, 2048, 8192, Layout::kTN};
};

TEST_F(WithOwnWinnersTest, AddsWhatTheSpaceLeavesOutOnce) {
  WgmmaParameters deep = kPairs;
  deep.stages = 7;
  Point old = Wgmma(kPairs);
  old.config.erase("l2_promotion");
  EXPECT_THAT(Added({old, Wgmma(deep), Wgmma(deep)}), ElementsAre(Wgmma(deep)));
  EXPECT_THAT(Added({}), SizeIs(0));
}

TEST_F(WithOwnWinnersTest, LeavesOutWhatCannotRun) {
  WgmmaParameters deep = kPairs, huge = kPairs;
  deep.stages = 7;
  huge.stages = 4000;
  Point later = Wgmma(deep), wrong = Wgmma(deep);
  later.config["of_tomorrow"] = 1;
  wrong.config["tile_m"] = 0;
  EXPECT_THAT(Added({later, wrong, Wgmma(huge), {"of_tomorrow", {}}}), SizeIs(0));
  EXPECT_THAT(Added({Wgmma(deep)}, {.compute_capability = 80}), SizeIs(0));
  EXPECT_THAT(Added({Wgmma(deep)}, {.overlap = false}), SizeIs(0));
  deep.overlap = 3;
  EXPECT_THAT(Added({Wgmma(deep)}), SizeIs(0));
  deep.overlap = 0;
  EXPECT_THAT(Added({Wgmma(deep)}, {.overlap = false}), SizeIs(1));
}

}  // namespace
}  // namespace warpsmith::hgemm
