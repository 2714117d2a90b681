#include "tune_defaults.h"

#include <gtest/gtest.h>

namespace warpsmith::cli {
namespace {

TEST(TuneDefaults, FewShapesAreSearchedThoroughlyAndCertified) {
  const SearchOptions few = TuneDefaults(UnsetTuneOptions(), kFewShapes);
  EXPECT_EQ(few.proposer, SearchOptions{}.proposer);
  EXPECT_EQ(few.budget, SearchOptions{}.budget);
  EXPECT_EQ(few.finalists, SearchOptions{}.finalists);
  EXPECT_EQ(few.batch, SearchOptions{}.batch);
}

TEST(TuneDefaults, OfAGridEachShapeIsScreenedOnly) {
  const SearchOptions grid = TuneDefaults(UnsetTuneOptions(), 1000);
  EXPECT_EQ(grid.proposer, "brief");
  EXPECT_EQ(grid.budget, "evals=24");
  EXPECT_EQ(grid.finalists, 0);
  EXPECT_EQ(grid.batch, 4);
}

TEST(TuneDefaults, WhatWasGivenStays) {
  SearchOptions given = UnsetTuneOptions();
  given.proposer = "local", given.budget = "evals=40,gpu=2s";
  given.finalists = 1, given.batch = 2;
  for (const size_t shapes : {size_t{1}, size_t{1000}}) {
    const SearchOptions search = TuneDefaults(given, shapes);
    EXPECT_EQ(search.budget, given.budget);
    EXPECT_EQ(search.proposer, "local");
    EXPECT_EQ(search.finalists, 1);
    EXPECT_EQ(search.batch, 2);
  }
}

}  // namespace
}  // namespace warpsmith::cli
