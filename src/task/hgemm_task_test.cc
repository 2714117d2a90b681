#include "task/hgemm_task.h"

#include <gtest/gtest.h>

#include <set>

namespace warpsmith::task {
namespace {

TEST(HgemmTaskTest, ParsesAShape) {
  const auto shape = ParseHgemmShape("512x4096x1024");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(*shape, (HgemmShape{512, 4096, 1024}));
  EXPECT_EQ(Name(*shape), "512x4096x1024");
}

TEST(HgemmTaskTest, SaysWhatIsWrongWithAShape) {
  const std::pair<const char*, const char*> cases[] = {
      {"0x64x64", "M is '0'"},         {"64x-3x64", "N is '-3'"},
      {"64x64", "found 2 extents"},    {"64x64x2147483648", "K is '2147483648'"},
      {"64x64xseven", "not a number"}, {"64x64x64x64", "found 4 extents"},
      {"", "found 1 extents"},         {"64x64x99999999999999999999", "too large"},
      {"64x64x 64", "not a number"},   {"64x64x64.5", "not a number"},
  };
  for (const auto& [text, expected] : cases) {
    const auto shape = ParseHgemmShape(text);
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_EQ(shape.error().code, ErrorCode::kBadInput);
    EXPECT_NE(shape.error().message.find(expected), std::string::npos) << shape.error().message;
  }
}

TEST(HgemmTaskTest, PaperGridHasEachOfAThousandShapesOnce) {
  std::set<std::string> names;
  for (const HgemmShape& shape : PaperShapes()) names.insert(Name(shape));
  EXPECT_EQ(names.size(), 1000u);
}

TEST(HgemmTaskTest, DemoGridRunsFromTinyToLarge) {
  const auto shapes = DemoShapes();
  ASSERT_EQ(shapes.size(), 12u);
  EXPECT_EQ(shapes.front(), (HgemmShape{64, 64, 64}));
  EXPECT_EQ(shapes.back(), (HgemmShape{8192, 8192, 8192}));
}

TEST(HgemmTaskTest, LayoutDecidesTheShapeOfBAndTheTaskId) {
  const Task nn = HgemmTask("NN"), tn = HgemmTask("TN");
  const Sizes sizes = HgemmWorkload({2, 3, 5}).sizes;
  EXPECT_EQ(Extents(nn.tensors[1], sizes).value(), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(Extents(tn.tensors[1], sizes).value(), (std::vector<int64_t>{3, 5}));
  EXPECT_NE(TaskId(nn), TaskId(tn));
  EXPECT_EQ(LayoutOf(nn), "NN");
}

}  // namespace
}  // namespace warpsmith::task
