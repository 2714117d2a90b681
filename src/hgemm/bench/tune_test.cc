#include "hgemm/bench/tune.h"

#include <gtest/gtest.h>

#include "hgemm/bench/catalogues.h"

namespace warpsmith::hgemm {
namespace {

TEST(TuneDefaults, FewShapesAreSearchedThoroughlyAndCertified) {
  const search::SearchOptions few = TuneDefaults(UnsetTuneOptions(), kFewShapes);
  EXPECT_EQ(few.proposer, search::SearchOptions{}.proposer);
  EXPECT_EQ(few.budget, search::SearchOptions{}.budget);
  EXPECT_EQ(few.finalists, search::SearchOptions{}.finalists);
  EXPECT_EQ(few.batch, search::SearchOptions{}.batch);
}

TEST(TuneDefaults, OfAGridEachShapeIsScreenedOnly) {
  const search::SearchOptions grid = TuneDefaults(UnsetTuneOptions(), 1000);
  EXPECT_EQ(grid.proposer, "brief");
  EXPECT_EQ(grid.budget, "evals=24");
  EXPECT_EQ(grid.finalists, 0);
  EXPECT_EQ(grid.batch, 4);
}

TEST(TuneDefaults, WhatWasGivenStays) {
  search::SearchOptions given = UnsetTuneOptions();
  given.proposer = "local", given.budget = "evals=40,gpu=2s";
  given.finalists = 1, given.batch = 2;
  for (const size_t shapes : {size_t{1}, size_t{1000}}) {
    const search::SearchOptions search = TuneDefaults(given, shapes);
    EXPECT_EQ(search.budget, given.budget);
    EXPECT_EQ(search.proposer, "local");
    EXPECT_EQ(search.finalists, 1);
    EXPECT_EQ(search.batch, 2);
  }
}

TEST(NearbyCatalogue, IsTheShippedOneWhereTheSearchMeasures) {
  EXPECT_FALSE(NearbyCatalogue("", "guided", false)->rows.empty());
  EXPECT_FALSE(NearbyCatalogue("", "brief", false)->rows.empty());
  EXPECT_TRUE(NearbyCatalogue("", "random", false)->rows.empty());
  EXPECT_TRUE(NearbyCatalogue("none", "guided", false)->rows.empty());
  EXPECT_TRUE(NearbyCatalogue("", "guided", true)->rows.empty());
  EXPECT_EQ(NearbyCatalogue("a.csv", "random", false).error().code, ErrorCode::kUsage);
  EXPECT_EQ(NearbyCatalogue("no/such.csv", "guided", false).error().code, ErrorCode::kNoInput);
}

}  // namespace
}  // namespace warpsmith::hgemm
