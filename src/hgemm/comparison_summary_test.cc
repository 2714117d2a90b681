#include "hgemm/comparison_summary.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace warpsmith::hgemm
