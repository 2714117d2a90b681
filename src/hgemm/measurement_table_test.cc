#include "hgemm/measurement_table.h"

#include <gmock/gmock.h>

#include "hgemm/test_comparison.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

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
}

}  // namespace
}  // namespace warpsmith::hgemm
