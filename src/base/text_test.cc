#include "base/text.h"

#include <gmock/gmock.h>

#include <map>
#include <ranges>

namespace warpsmith {
namespace {

using ::testing::ElementsAre;

TEST(Text, IsTrimmed) {
  EXPECT_EQ(Trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trimmed(" \n"), "");
  EXPECT_EQ(Trimmed(""), "");
}

TEST(Text, HasALastLine) {
  EXPECT_EQ(LastLine("one\n  two \n\n"), "  two");
  EXPECT_EQ(LastLine("one"), "one");
  EXPECT_EQ(LastLine("\n\n"), "");
}

TEST(Text, IsSplitAtEverySeparator) {
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(Text, IsJoined) {
  const std::map<std::string, int> sizes = {{"M", 1}, {"N", 2}};
  EXPECT_EQ(Joined(sizes | std::views::keys), "M, N");
  EXPECT_EQ(Joined(sizes | std::views::values, " x ", [](int n) { return std::to_string(n); }),
            "1 x 2");
  EXPECT_EQ(Joined(std::vector<std::string>{}), "");
}

TEST(Characters, AreThoseOfAscii) {
  EXPECT_TRUE(IsIdentifier("_a1") && IsMadeOf("a-1", "-") && IsVisible("a/1") && IsVisible(""));
  EXPECT_FALSE(IsIdentifier("1a") || IsIdentifier("") || IsIdentifier("\xc3\xa4"));
  EXPECT_FALSE(IsMadeOf("", "-") || IsMadeOf("a_", "-") || IsMadeOf("\xc3\xa4", "-"));
  EXPECT_FALSE(IsVisible("a b") || IsVisible("\x7f") || IsVisible("\xc3") || IsVisible("a/", "/"));
  EXPECT_TRUE(IsControl('\n') && IsControl('\x7f') && !IsControl(' ') && !IsControl('\xc3'));
  EXPECT_EQ(PlainText("GPU 1.5/\xc3", ".", '_'), "GPU_1.5__");
}

}  // namespace
}  // namespace warpsmith
