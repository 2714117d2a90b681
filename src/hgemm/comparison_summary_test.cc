#include "hgemm/comparison_summary.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hgemm/tests/comparison.h"

namespace warpsmith::hgemm {
namespace {

TEST(ComparisonSummaryTest, ThePaperGridFallsIntoItsClasses) {
  std::map<SizeClass, int> counts;
  const int64_t extents[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384};
  for (const int64_t m : extents) {
    for (const int64_t n : extents) {
      for (const int64_t k : extents) ++counts[ClassOf({m, n, k})];
    }
  }
  EXPECT_EQ(counts[SizeClass::kTiny], 226);
  EXPECT_EQ(counts[SizeClass::kSmall], 370);
  EXPECT_EQ(counts[SizeClass::kMedium], 266);
  EXPECT_EQ(counts[SizeClass::kLarge], 138);
}

TEST(ComparisonSummaryTest, AClassHoldsItsUpperEnd) {
  EXPECT_EQ(ClassOf({1 << 9, 1 << 9, 1 << 9}), SizeClass::kTiny);
  EXPECT_EQ(ClassOf({1 << 9, 1 << 9, (1 << 9) + 1}), SizeClass::kSmall);
  EXPECT_EQ(ClassOf({1 << 24, 1 << 24, 1 << 24}), SizeClass::kLarge);
  EXPECT_EQ(SizeExponent({1, 1, 1}), 0);
  EXPECT_EQ(SizeExponent({3, 1, 1}), 1);
  EXPECT_EQ(SizeExponent({1 << 24, 1 << 24, 1 << 24}), 72);
}

TEST(ComparisonSummaryTest, NothingHasNoSummary) {
  EXPECT_TRUE(Summarise({SampleTerms(), {}, {}}).empty());
}

TEST(ComparisonSummaryTest, CountsWinsAndLossesByTheWholeInterval) {
  MeasurementTable table{SampleTerms(), {SampleSession()}, {}};
  const double ratios[] = {2.0, 1.002, 0.995, 0.5};  // each 0.4 % to each side
  for (const double ratio : ratios) {
    table.shapes.push_back(
        SampleShape({64, 64, 1 + static_cast<int64_t>(table.shapes.size())}, ratio));
  }
  const std::vector<ModeSummary> modes = Summarise(table);
  ASSERT_EQ(modes.size(), 4U);
  EXPECT_EQ(modes[2].mode, Mode::kOffline);
  const RatioSummary& all = modes[0].all.library;
  EXPECT_EQ(all.shapes, 4);
  EXPECT_EQ(all.faster, 1);
  EXPECT_EQ(all.same, 1);
  EXPECT_EQ(all.slower, 2);
  EXPECT_EQ(all.at_least_one, 2);
  EXPECT_EQ(all.at_least_099, 3);
  EXPECT_EQ(all.worst, 0.5);
  EXPECT_EQ(all.worst_problem.k, 4);
  EXPECT_NEAR(all.geomean, std::pow(2.0 * 1.002 * 0.995 * 0.5, 0.25), 1e-12);
}

TEST(ComparisonSummaryTest, ManyShapesMakeTheMeanSurerThanOneIs) {
  MeasurementTable table{SampleTerms(), {SampleSession()}, {}};
  for (int64_t i = 1; i <= 100; ++i) table.shapes.push_back(SampleShape({64, 64, i}, 1.2));
  const RatioSummary all = Summarise(table)[0].all.library;
  EXPECT_NEAR(all.geomean, 1.2, 1e-12);
  EXPECT_NEAR(all.interval.hi / all.geomean - 1, 0.0004, 1e-5);
  EXPECT_NEAR(1 - all.interval.lo / all.geomean, 0.0004, 1e-5);
}

TEST(ComparisonSummaryTest, KernelAndLibraryModesAndClassesStayApart) {
  MeasurementTable table = SampleTable();
  table.shapes[0].modes[0].kernel = Ratio(3);
  table.shapes.push_back(SampleShape({8192, 8192, 8192}, 1.01));
  const std::vector<ModeSummary> modes = Summarise(table);
  EXPECT_NEAR(modes[0].classes.at(SizeClass::kTiny).kernel.geomean, std::sqrt(3 * 0.9), 1e-12);
  EXPECT_NEAR(modes[0].classes.at(SizeClass::kTiny).library.geomean, std::sqrt(1.5 * 0.9), 1e-12);
  EXPECT_NEAR(modes[1].classes.at(SizeClass::kTiny).kernel.geomean, std::sqrt(1.5 * 0.9), 1e-12);
  EXPECT_EQ(modes[0].classes.at(SizeClass::kLarge).library.shapes, 1);
  EXPECT_FALSE(modes[0].classes.contains(SizeClass::kSmall));
  EXPECT_EQ(modes[0].exponents.at(18).library.shapes, 1);
  EXPECT_EQ(modes[0].exponents.at(39).library.shapes, 1);
}

CatalogueRow GuardRow(const Problem& problem, double screened) {
  CatalogueRow row;
  row.problem = problem;
  row.device = "NVIDIA H200";
  row.kernel = {"tiny", {{"warp_m", 16}, {"warp_n", 8}}};
  row.candidate = row.plan_id = row.artifact = std::string(64, 'a');
  row.results = {{Mode::kDeviceHot, "cublaslt-auto", 2, 2 * screened, screened, {0.9, 3}}};
  row.choice = Guarded(row.results);
  row.architecture = "sm_90a";
  row.driver = row.toolkit = row.library = "old";
  row.level = "screened";
  row.date = "2026-11-21T11:00:00Z";
  return row;
}

// 64x64x64 is 1.5 times as fast as the bar. 64x128x64 is not as fast; there the library runs
// cuBLASLt, as fast as the bar.
MeasurementTable CompareWith(const Catalogue& catalogue) {
  MeasurementTable table = SampleTable();
  for (ModeComparison& mode : table.shapes[1].modes) {
    mode.library = Ratio(1);
    mode.library_us = mode.primary_us;
  }
  table.terms.catalogue = CatalogueHash(catalogue).value();
  return table;
}

TEST(ComparisonGuardTest, MeasuredRatiosReplaceTheScreenedOnes) {
  const Catalogue catalogue{{GuardRow({64, 64, 64}, 0.98), GuardRow({64, 128, 64}, 1.1)}};
  const auto guarded = Guard(catalogue, CompareWith(catalogue)).value();
  EXPECT_EQ(guarded.decided, 2);
  EXPECT_EQ(guarded.to_kernel, 1);
  EXPECT_EQ(guarded.to_cublaslt, 1);
  const CatalogueRow& row = guarded.catalogue.rows[0];
  EXPECT_EQ(row.choice, Choice::kKernel);
  ASSERT_EQ(row.results.size(), 4U);
  EXPECT_EQ(row.results[3].mode, Mode::kServer);
  EXPECT_DOUBLE_EQ(row.results[3].ratio, 1.5);
  EXPECT_DOUBLE_EQ(row.results[3].baseline_us, 3);
  EXPECT_EQ(row.level, "compared");
  EXPECT_EQ(row.driver, "580.159.04");
  EXPECT_EQ(row.date, "2026-11-22T01:00:00Z");
  EXPECT_EQ(row.candidate, catalogue.rows[0].candidate);
  EXPECT_EQ(guarded.catalogue.rows[1].choice, Choice::kCublasLt);
  EXPECT_TRUE(ToText(guarded.catalogue).ok());
}

// The bar is the faster of both layouts: a library that cannot use it is slower than the bar, and
// perhaps than a kernel that is.
TEST(ComparisonGuardTest, AKernelNeedOnlyBeatWhatTheLibraryWouldRunInstead) {
  const Catalogue catalogue{{GuardRow({64, 128, 64}, 0.97)}};
  MeasurementTable table = CompareWith(catalogue);
  const auto choose = [&](double library) {
    for (ModeComparison& mode : table.shapes[1].modes) {
      mode.library = Ratio(library);
      mode.library_us = mode.primary_us / library;
    }
    return Guard(catalogue, table).value().catalogue.rows[0];
  };
  const CatalogueRow slow = choose(0.75);  // the kernel has 0.9
  EXPECT_EQ(slow.choice, Choice::kKernel);
  ASSERT_EQ(slow.results.size(), 8U);
  EXPECT_EQ(slow.results[0].baseline, "cublaslt-auto");
  EXPECT_DOUBLE_EQ(slow.results[0].ratio, 0.9);
  EXPECT_EQ(slow.results[4].baseline, "fallback");
  EXPECT_NEAR(slow.results[4].ratio, 1.2, 1e-12);
  EXPECT_NEAR(slow.results[4].baseline_us, 2.4, 1e-12);
  EXPECT_LT(slow.results[4].interval.lo, 1.2);
  EXPECT_GT(slow.results[4].interval.hi, 1.2);
  EXPECT_FALSE(IsAgainstTheRule(slow));
  EXPECT_EQ(choose(0.95).choice, Choice::kCublasLt);
  // Slower than what it would replace, in one mode, and surely.
  for (ModeComparison& mode : table.shapes[1].modes) mode.library = Ratio(0.75);
  table.shapes[1].modes[2].library = Ratio(0.95);
  EXPECT_EQ(Guard(catalogue, table).value().catalogue.rows[0].choice, Choice::kCublasLt);
}

// A library that lacked the algorithm says nothing of one that has it.
TEST(ComparisonGuardTest, WhereTheBarIsOfTheRowsLayoutOnlyTheBarCounts) {
  const Catalogue catalogue{{GuardRow({64, 128, 64}, 0.97)}};
  MeasurementTable table = CompareWith(catalogue);
  for (ModeComparison& mode : table.shapes[1].modes) mode.library = Ratio(0.75);
  const auto own = [](const CatalogueRow&) { return true; };
  const CatalogueRow row =
      Guard(catalogue, table, Uncompared::kKeep, own).value().catalogue.rows[0];
  EXPECT_EQ(row.choice, Choice::kCublasLt);
  EXPECT_EQ(row.results.size(), 4U);
}

// The library that was proved runs the kernel: its comparison has no fallback.
TEST(ComparisonGuardTest, GuardingAgainKeepsWhatIsKnownOfTheFallback) {
  const Catalogue catalogue{{GuardRow({64, 128, 64}, 0.97)}};
  MeasurementTable table = CompareWith(catalogue);
  for (ModeComparison& mode : table.shapes[1].modes) {
    mode.library = Ratio(0.75);
    mode.library_us = mode.primary_us / 0.75;
  }
  const Catalogue first = Guard(catalogue, table).value().catalogue;
  ASSERT_EQ(first.rows[0].choice, Choice::kKernel);
  table.shapes[1].choice = "tiny warp_m=16 warp_n=8";
  table.terms.catalogue = CatalogueHash(first).value();
  const CatalogueRow again = Guard(first, table).value().catalogue.rows[0];
  EXPECT_EQ(again.choice, Choice::kKernel);
  EXPECT_EQ(again.results.size(), 8U);
}

TEST(ComparisonGuardTest, NothingIsOursBeforeItIsCompared) {
  const Catalogue left =
      LeftToCublasLt({{GuardRow({64, 64, 64}, 1.2), GuardRow({64, 128, 64}, 0.9)}});
  for (const CatalogueRow& row : left.rows) EXPECT_EQ(row.choice, Choice::kCublasLt);
  EXPECT_EQ(left.rows[0].kernel, GuardRow({64, 64, 64}, 1.2).kernel);
}

TEST(ComparisonGuardTest, ChoosesAnewByWhatComparedRowsHold) {
  const Catalogue screened{{GuardRow({64, 64, 64}, 0.98), GuardRow({64, 128, 64}, 1.1)}};
  Catalogue catalogue = Guard(screened, CompareWith(screened)).value().catalogue;
  catalogue.rows.push_back(GuardRow({512, 64, 64}, 1.2));
  const std::string guarded = ToText(catalogue).value();
  for (CatalogueRow& row : catalogue.rows) {
    row.choice = row.choice == Choice::kKernel ? Choice::kCublasLt : Choice::kKernel;
  }
  const GuardedCatalogue anew = GuardAnew(catalogue);
  EXPECT_EQ(anew.decided, 2);
  EXPECT_EQ(anew.to_kernel, 1);
  EXPECT_EQ(anew.to_cublaslt, 1);
  EXPECT_EQ(anew.not_compared, 1);
  EXPECT_EQ(anew.changed, 2);  // these kernels' hashes are made up
  EXPECT_EQ(anew.catalogue.rows[2].choice, Choice::kCublasLt);
  Catalogue restored = anew.catalogue;
  restored.rows[2].choice = Choice::kKernel;
  EXPECT_EQ(ToText(restored).value(), guarded);
}

// A ratio is written with four decimals.
TEST(ComparisonGuardTest, ChoosesByWhatIsWritten) {
  const Catalogue catalogue{{GuardRow({64, 128, 64}, 1.1)}};
  for (const double ratio : {1.00004, 0.99996, 1.0}) {
    MeasurementTable table = CompareWith(catalogue);
    for (ModeComparison& mode : table.shapes[1].modes) {
      mode.kernel = mode.library = Ratio(ratio);
      mode.library_us = mode.primary_us = mode.kernel_us * ratio;
    }
    table.shapes[1].choice = "tiny warp_m=16 warp_n=8";
    const Catalogue guarded = Guard(catalogue, table).value().catalogue;
    const Catalogue read = ParseCatalogue("c.csv", ToText(guarded).value()).value();
    EXPECT_FALSE(IsAgainstTheRule(read.rows[0])) << ratio;
    EXPECT_EQ(ToText(GuardAnew(read).catalogue).value(), ToText(guarded).value()) << ratio;
  }
}

TEST(ComparisonGuardTest, LeavesAloneWhatWasNotCompared) {
  CatalogueRow elsewhere = GuardRow({64, 64, 64}, 1.2);
  elsewhere.device = "NVIDIA H100";
  const Catalogue catalogue{
      {elsewhere, GuardRow({64, 64, 64}, 1.2), GuardRow({512, 512, 512}, 1.2)}};
  const auto guarded = Guard(catalogue, CompareWith(catalogue)).value();
  EXPECT_EQ(guarded.decided, 1);
  EXPECT_EQ(guarded.not_compared, 1);
  EXPECT_EQ(guarded.elsewhere, 1);
  EXPECT_EQ(guarded.not_catalogued, 1);
  EXPECT_EQ(guarded.catalogue.rows[2].level, "screened");
}

TEST(ComparisonGuardTest, WhatWasNotComparedCanBeLeftToCublasLt) {
  const Catalogue catalogue{{GuardRow({64, 64, 64}, 1.2), GuardRow({512, 512, 512}, 1.2)}};
  const auto guarded = Guard(catalogue, CompareWith(catalogue), Uncompared::kCublasLt).value();
  EXPECT_EQ(guarded.catalogue.rows[0].choice, Choice::kKernel);
  EXPECT_EQ(guarded.catalogue.rows[1].choice, Choice::kCublasLt);
  EXPECT_EQ(guarded.catalogue.rows[1].level, "screened");
}

// A kernel that no row of the comparison could be of has not failed it.
TEST(ComparisonGuardTest, WhatCouldNotBeComparedIsLeftAloneAllTheSame) {
  CatalogueRow device = GuardRow({64, 64, 64}, 1.2);
  device.device = "NVIDIA H100";
  const Catalogue catalogue{{GuardRow({64, 64, 64}, 1.2), device,
                             GuardRow({512, 64, 64, Layout::kNN}, 1.2),
                             GuardRow({512, 64, 64, Layout::kTN, DType::kBF16}, 1.2)}};
  const auto guarded = Guard(catalogue, CompareWith(catalogue), Uncompared::kCublasLt).value();
  EXPECT_EQ(guarded.decided, 1);
  EXPECT_EQ(guarded.not_compared, 0);
  EXPECT_EQ(guarded.elsewhere, 3);
  for (const CatalogueRow& row : guarded.catalogue.rows) EXPECT_EQ(row.choice, Choice::kKernel);
}

TEST(ComparisonGuardTest, RefusesAComparisonOfAnotherCatalogue) {
  const Catalogue catalogue{{GuardRow({64, 64, 64}, 1.2)}};
  MeasurementTable table = CompareWith(catalogue);
  Catalogue other = catalogue;
  other.rows[0].kernel.config["warp_m"] = 32;
  EXPECT_THAT(Guard(other, table).error().message, ::testing::HasSubstr("not of this catalogue"));
  table.terms.catalogue = "none";
  EXPECT_FALSE(Guard(catalogue, table).ok());
}

// The row's hashes are of kernels that were never built; the bench measured what is built now.
TEST(ComparisonGuardTest, ResultsStandBesideTheHashesOfWhatWasMeasured) {
  const Catalogue catalogue{{GuardRow({64, 64, 64}, 1.2), GuardRow({512, 512, 512}, 1.2)}};
  const Catalogue built = AsBuiltNow(catalogue);
  ASSERT_NE(built.rows[0].candidate, catalogue.rows[0].candidate);
  const auto guarded = Guard(catalogue, CompareWith(built)).value();
  EXPECT_EQ(guarded.built_anew, 1);
  EXPECT_EQ(guarded.changed, 0);
  const CatalogueRow& row = guarded.catalogue.rows[0];
  EXPECT_EQ(row.candidate, built.rows[0].candidate);
  EXPECT_EQ(row.plan_id, built.rows[0].plan_id);
  EXPECT_EQ(row.artifact, kArtifactNotKept);
  EXPECT_EQ(row.level, "compared");
  // Not compared: still what was tuned.
  EXPECT_EQ(guarded.catalogue.rows[1].candidate, catalogue.rows[1].candidate);
  EXPECT_EQ(guarded.catalogue.rows[1].artifact, catalogue.rows[1].artifact);
}

TEST(ComparisonGuardTest, SaysWhatThisProgramBuildsOtherwiseThanWhatWasMeasured) {
  const Catalogue old{{GuardRow({64, 64, 64}, 1.2)}};
  const auto of_old = Guard(old, CompareWith(old)).value();
  EXPECT_EQ(of_old.changed, 1);
  EXPECT_EQ(of_old.built_anew, 0);
  EXPECT_EQ(of_old.catalogue.rows[0].candidate, old.rows[0].candidate);
  const Catalogue current = AsBuiltNow(old);
  EXPECT_EQ(Guard(current, CompareWith(current))->changed, 0);
}

TEST(ComparisonGuardTest, AMergeWithWhatWasGuardedKeepsTheDecisions) {
  const Catalogue catalogue{
      {GuardRow({64, 64, 64}, 1.2), GuardRow({64, 128, 64}, 1.2), GuardRow({512, 64, 64}, 1.2)}};
  const Catalogue guarded =
      Guard(catalogue, CompareWith(catalogue), Uncompared::kCublasLt).value().catalogue;
  // In the comparison 64x128x64 has 0.9, and 512x64x64 no row.
  const Catalogue parts[] = {catalogue, guarded};
  const Catalogue merged = Merge(parts);
  EXPECT_EQ(ToText(merged).value(), ToText(guarded).value());
  EXPECT_EQ(Find(merged, {64, 128, 64})->choice, Choice::kCublasLt);
  EXPECT_EQ(Find(merged, {512, 64, 64})->choice, Choice::kCublasLt);
}

TEST(ComparisonGuardTest, TheHashIsOfTheRowsWhateverTheirOrder) {
  const Catalogue one{{GuardRow({64, 64, 64}, 1.2), GuardRow({64, 128, 64}, 1.1)}};
  const Catalogue turned{{one.rows[1], one.rows[0]}};
  EXPECT_EQ(CatalogueHash(one).value(), CatalogueHash(turned).value());
  EXPECT_NE(CatalogueHash(one).value(), CatalogueHash({{one.rows[0]}}).value());
}

}  // namespace

}  // namespace warpsmith::hgemm
