#include "base/compressed_frames.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "base/compression.h"

namespace warpsmith {
namespace {

TEST(CompressedFramesTest, FindsEachAndTheyAreOneFile) {
  const std::string one = Compress("one\n"), two = Compress("two\n");
  const std::string both = one + two;
  const auto frames = WholeFrames(both);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0], one);
  EXPECT_EQ(frames[1], two);
  EXPECT_EQ(Decompress("both", both).value(), "one\ntwo\n");
}

TEST(CompressedFramesTest, NothingAndNoFrameHaveNone) {
  EXPECT_TRUE(WholeFrames("").empty());
  EXPECT_TRUE(WholeFrames("m,n,k\n").empty());
}

TEST(CompressedFramesTest, ATornEndIsLeftOutWhereverItIsTorn) {
  EXPECT_TRUE(rc::check([] {
    const std::string first = Compress(*rc::gen::arbitrary<std::string>());
    const std::string second = Compress(*rc::gen::arbitrary<std::string>());
    const auto kept = *rc::gen::inRange<size_t>(0, second.size());
    const std::string torn = first + second.substr(0, kept);
    RC_ASSERT(WholeFrames(torn) == std::vector<std::string_view>{std::string_view(first)});
  }));
}

}  // namespace
}  // namespace warpsmith
