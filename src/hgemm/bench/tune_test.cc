#include "hgemm/bench/tune.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "hgemm/bench/catalogues.h"

namespace warpsmith::search {
namespace {

Machine RecordedMachine(const TemporaryDirectory& folder) {
  DeviceOptions device;
  device.device = "recorded";
  device.store = (folder.path() / "store.db").string();
  return Machine::Open(device).value();
}

TEST(SearchAhead, HandsOverWhatHgemmSearchMakesInTheOrderOfItsBeginnings) {
  const auto folder = TemporaryDirectory::Create("search_ahead").value();
  Machine machine = RecordedMachine(folder);
  const SearchOptions options;
  const Task task = task::HgemmTask("TN");
  const hgemm::Catalogue nearby;
  SearchAhead ahead(machine, options, nearby);
  for (const task::HgemmShape shape : {task::HgemmShape{64, 64, 64}, {512, 512, 512}}) {
    ahead.Begin(task, task::HgemmWorkload(shape), true);
    const Result<SearchJob> made = ahead.Take();
    ASSERT_TRUE(made.ok());
    const SearchJob expected = HgemmSearch(machine, task, task::HgemmWorkload(shape)).value();
    EXPECT_EQ(made->space.name(), expected.space.name());
    EXPECT_EQ(made->space.size(), expected.space.size());
    EXPECT_EQ(made->label, expected.label);
  }
  ahead.Begin(task, task::HgemmWorkload({64, 64, 72}), true);
  EXPECT_EQ(ahead.Take().error().code, ErrorCode::kNotRecorded);
  ahead.Begin(task, task::HgemmWorkload({64, 64, 64}), true);  // never taken
}

TEST(SearchAhead, BeginsWithWhatWonNearby) {
  const auto folder = TemporaryDirectory::Create("search-ahead").value();
  Machine machine = RecordedMachine(folder);
  const Task task = task::HgemmTask("TN");
  const Workload workload = task::HgemmWorkload({64, 64, 64});
  const Point last = HgemmSearch(machine, task, workload)->space.points().back();
  hgemm::CatalogueRow row;
  row.problem = {64, 64, 128, hgemm::Layout::kTN};
  row.kernel = last;
  const hgemm::Catalogue nearby{{row}};
  const SearchJob job = TuneSearch(machine, {}, nearby, task, workload).value();
  EXPECT_EQ(job.first, std::vector{last});
  EXPECT_TRUE(TuneSearch(machine, {}, {}, task, workload)->first.empty());
}

TEST(TuneSearch, RanksByTheModelThatIsNamed) {
  const auto folder = TemporaryDirectory::Create("search-ahead").value();
  Machine machine = RecordedMachine(folder);
  // Prefers whatever has more of a parameter: one split, and two leaves.
  const std::filesystem::path path = folder.path() / "model.json";
  ASSERT_TRUE(WriteFileAtomic(path, R"({"schema": "warpsmith.cost-model", "version": 1,
      "best_us": {"fixed_us": 2, "us_per_giga_product": 0, "us_per_megabyte": 0},
      "features": ["tile_warps_n"], "trees": [{"feature": [0, -1, -1], "threshold": [1, 0, 0],
      "left": [1, 0, 0], "right": [2, 0, 0], "value": [0, 1, 0]}]})")
                  .ok());
  SearchOptions options;
  options.cost_model = path.string();
  const Task task = task::HgemmTask("TN");
  const SearchJob job =
      TuneSearch(machine, options, {}, task, task::HgemmWorkload({64, 64, 64})).value();
  for (const Point& point : job.space.points()) {
    const auto warps = point.config.find("tile_warps_n");
    const bool more = warps != point.config.end() && warps->second > 1;
    EXPECT_NEAR(job.model(point), more ? 2 : 2 * 2.718281828, 1e-6);
  }
}

}  // namespace

}  // namespace warpsmith::search

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
