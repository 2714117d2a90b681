#include "base/compression.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

namespace warpsmith {
namespace {

TEST(Compression, RoundTrips) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    RC_ASSERT(Decompress("x", Compress(bytes)).value() == bytes);
  }));
  const std::string large(3'000'000, 'a');
  EXPECT_LT(Compress(large).size(), 1000U);
  EXPECT_EQ(Decompress("x", Compress(large)).value(), large);
  EXPECT_EQ(Decompress("x", Compress("")).value(), "");
}

TEST(Compression, RefusesWhatExpandsTooFar) {
  const std::string bomb = Compress(std::string(10'000'000, '\0'));
  EXPECT_FALSE(Decompress("x", bomb, 9'999'999).ok());
  EXPECT_TRUE(Decompress("x", bomb, 10'000'000).ok());
}

TEST(Compression, RefusesEveryTruncation) {
  const std::string whole = Compress("the quick brown fox jumps over the lazy dog");
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto expanded = Decompress("fox.zst", whole.substr(0, size));
    ASSERT_FALSE(expanded.ok()) << size;
    EXPECT_THAT(expanded.error().message, ::testing::HasSubstr("fox.zst"));
  }
}

TEST(Compression, NeverCrashesOnGarbage) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) { (void)Decompress("x", bytes, 1000); }));
  const std::string whole = Compress("the quick brown fox jumps over the lazy dog");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string garbled = whole;
    garbled[i] = static_cast<char>(garbled[i] ^ 0x55);
    (void)Decompress("x", garbled, 1000);
  }
}

TEST(WholeFrames, FindsEachAndTheyAreOneFile) {
  const std::string one = Compress("one\n"), two = Compress("two\n");
  const std::string both = one + two;
  const auto frames = WholeFrames(both);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0], one);
  EXPECT_EQ(frames[1], two);
  EXPECT_EQ(Decompress("both", both).value(), "one\ntwo\n");
}

TEST(WholeFrames, NothingAndNoFrameHaveNone) {
  EXPECT_TRUE(WholeFrames("").empty());
  EXPECT_TRUE(WholeFrames("m,n,k\n").empty());
}

TEST(WholeFrames, ATornEndIsLeftOutWhereverItIsTorn) {
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
