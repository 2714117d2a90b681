#include "judge/baseline/primary_table.h"

#include <gmock/gmock.h>

namespace warpsmith::baseline {
namespace {

constexpr char kTable[] =
    "# cuBLASLt on a card\n"
    "m,n,k,device_us,note\n"
    "64,64,64,2.0,a\n"
    "# in between\n"
    "128,64,64,4.0,b\r\n";

TEST(ParsePrimaryTable, ReadsShapesAndTheNamedColumn) {
  const PrimaryTable table = ParsePrimaryTable("t.csv", kTable, "device_us").value();
  EXPECT_THAT(table, testing::ElementsAre(testing::Pair(ShapeKey{64, 64, 64}, 2.0),
                                          testing::Pair(ShapeKey{128, 64, 64}, 4.0)));
}

TEST(ParsePrimaryTable, ErrorsSayFileAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "t.csv:0: there is no header"},
      {"m,n,us\n", "t.csv:1: no column 'k'"},
      {"m,n,k\n", "t.csv:1: no column 'us'"},
      {"m,n,k,us\n64,64,64\n", "t.csv:2: the line is too short"},
      {"m,n,k,us\n64,x,64,1\n", "t.csv:2: expected a number above 0, found 'x'"},
      {"m,n,k,us\n64,64,64,-1\n", "t.csv:2: expected a number above 0, found '-1'"},
      {"m,n,k,us\n64,64,64,nan\n", "t.csv:2: expected a number above 0, found 'nan'"}};
  for (const auto& [text, message] : cases) {
    const auto table = ParsePrimaryTable("t.csv", text, "us");
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_EQ(table.error().message, message);
  }
}

TEST(ComparePrimaries, ListsDifferencesBeyondTheToleranceLargestFirst) {
  const PrimaryTable known = {{{1, 1, 1}, 10}, {{2, 2, 2}, 10}, {{3, 3, 3}, 10}, {{4, 4, 4}, 10}};
  const PrimaryTable measured = {
      {{1, 1, 1}, 10.5}, {{2, 2, 2}, 12}, {{3, 3, 3}, 5}, {{9, 9, 9}, 1}};
  const PrimaryComparison comparison = ComparePrimaries(measured, known).value();
  EXPECT_EQ(comparison.shapes, 3);
  EXPECT_NEAR(comparison.median_relative, 0.05, 1e-12);
  ASSERT_EQ(comparison.differences.size(), 2U);
  EXPECT_EQ(comparison.differences[0].shape, (ShapeKey{3, 3, 3}));
  EXPECT_NEAR(comparison.differences[1].relative(), 0.2, 1e-12);
}

TEST(ComparePrimaries, NoCommonShapeIsAnError) {
  const auto comparison = ComparePrimaries({{{1, 1, 1}, 1}}, {{{2, 2, 2}, 1}});
  ASSERT_FALSE(comparison.ok());
  EXPECT_EQ(comparison.error().code, ErrorCode::kNothingMeasured);
}

}  // namespace
}  // namespace warpsmith::baseline
