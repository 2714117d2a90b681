#include "hgemm/measurement_table.h"

#include <gmock/gmock.h>

#include "hgemm/tests/comparison.h"

namespace warpsmith::hgemm {
namespace {

using testing::HasSubstr;
using ::testing::HasSubstr;
using testing::Not;

TEST(MeasurementTableTest, JoinsPartsOfOneComparison) {
  MeasurementTable other{
      SampleTerms(), {SampleSession("later")}, {SampleShape({128, 64, 64}, 1.1)}};
  const NamedMeasurements parts[] = {{"a.csv", SampleTable()}, {"b.csv", other}};
  const auto joined = Join(parts);
  ASSERT_TRUE(joined.ok()) << joined.error().Line();
  ASSERT_EQ(joined->shapes.size(), 3U);
  EXPECT_EQ(joined->sessions[joined->shapes[2].session].date, "later");
  EXPECT_NE(Find(*joined, {128, 64, 64}), nullptr);
  EXPECT_EQ(Find(*joined, {128, 64, 64, Layout::kNN}), nullptr);
}

TEST(MeasurementTableTest, AJoinOfNoShapeAtAllIsNoComparison) {
  const NamedMeasurements parts[] = {{"a.csv", {SampleTerms(), {}, {}}}, {"b.csv", SampleTable()}};
  EXPECT_TRUE(Join(parts).ok());
  const auto none = Join(std::span(parts, 1));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNothingMeasured);
  EXPECT_THAT(none.error().message, HasSubstr("a.csv"));
}

TEST(MeasurementTableTest, JoinsNoStrangersAndNoShapeTwice) {
  NamedMeasurements parts[] = {{"a.csv", SampleTable()}, {"b.csv", SampleTable()}};
  EXPECT_THAT(Join(parts).error().message, HasSubstr("b.csv: 64x64x64 stands in a file before"));
  parts[1].table.terms.device = "NVIDIA H100";
  parts[1].table.terms.pack = "gemm.wspack 0";
  EXPECT_THAT(Join(parts).error().message,
              HasSubstr("b.csv: of another comparison than a.csv: another device, pack"));
  parts[1].table.terms.layout = kBothLayouts;
  EXPECT_THAT(Join(parts).error().message, HasSubstr("b.csv: it holds times of libraries alone"));
}

TEST(IsViolation, OnlyWhatIsShownToBeFasterThanTheBar) {
  EXPECT_TRUE(IsViolation({1.05, {1.02, 1.08}}));
  EXPECT_FALSE(IsViolation({1.05, {1.009, 1.09}})) << "it may be as fast";
  EXPECT_FALSE(IsViolation({1.006, {1.004, 1.008}})) << "shown, and within the band";
  EXPECT_FALSE(IsViolation({0.9, {0.88, 0.92}}));
  EXPECT_TRUE(IsViolationUnpaired(10.6, 10));
  EXPECT_FALSE(IsViolationUnpaired(10.4, 10));
}

// What h200.csv's bar was at 512x2048x4096: the autotuned choice lost to cuBLAS's default.
TEST(CheckOf, NamesWhoIsFasterAndWhere) {
  const PrimaryCheck check =
      CheckOf(3, 1,
              {{Mode::kDeviceHot, "cublas-tn", {1.096, {1.08, 1.11}}},
               {Mode::kDeviceHot, "cublaslt-heuristic-tn", {1.0, {0.99, 1.01}}},
               {Mode::kServer, "cublas-tn", {1.03, {0.9, 1.2}}}});
  EXPECT_EQ(check.others, 3);
  ASSERT_EQ(check.violations.size(), 1U);
  EXPECT_EQ(check.violations[0].name, "cublas-tn");
  EXPECT_EQ(check.violations[0].mode, Mode::kDeviceHot);
}

TEST(IsDrawnForPrimaryCheck, DrawsAtLeastOneShapeInTenOfTheGrid) {
  const int64_t extents[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384};
  int drawn = 0;
  for (const int64_t m : extents) {
    for (const int64_t n : extents) {
      for (const int64_t k : extents) {
        const Problem problem{m, n, k, Layout::kTN, DType::kF16};
        drawn += IsDrawnForPrimaryCheck(problem, 8) ? 1 : 0;
        EXPECT_FALSE(IsDrawnForPrimaryCheck(problem, 0));
        EXPECT_TRUE(IsDrawnForPrimaryCheck(problem, 1));
      }
    }
  }
  EXPECT_GE(drawn, 100);
  EXPECT_LE(drawn, 150);
}

TEST(PrimaryStanding, AViolationOrTooFewChecksAreNoHeadline) {
  EXPECT_TRUE((PrimaryStanding{1000, 125, 3, 0}).IsHeadline());
  EXPECT_THAT(Text({1000, 125, 3, 0}), Not(HasSubstr("not a headline")));
  EXPECT_THAT(Text({1000, 125, 3, 0}), HasSubstr("125 of 1000 shapes"));
  EXPECT_THAT(Text({1000, 125, 3, 2}), HasSubstr("2 violations: not a headline"));
  EXPECT_THAT(Text({1000, 99, 0, 0}), HasSubstr("fewer than one shape in ten: not a headline"));
  EXPECT_THAT(Text({1000, 0, 0, 0}), HasSubstr("not checked"));
  EXPECT_FALSE((PrimaryStanding{0, 0, 0, 0}).IsHeadline());
}

}  // namespace
}  // namespace warpsmith::hgemm
