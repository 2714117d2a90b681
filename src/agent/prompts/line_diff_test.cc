#include "agent/prompts/line_diff.h"

#include <gtest/gtest.h>

namespace warpsmith::prompts {
namespace {

TEST(LineDiff, ShowsChangesWithALittleAround) {
  EXPECT_EQ(LineDiff("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nD\ne\nf\ng\n"),
            "@@\n b\n c\n-d\n+D\n e\n f\n");
  EXPECT_EQ(LineDiff("a\n", "a\nb\n"), " a\n+b\n");
  EXPECT_EQ(LineDiff("a\nb\n", "b\n"), "-a\n b\n");
  EXPECT_EQ(LineDiff("", "a\n"), "+a\n");
  EXPECT_EQ(LineDiff("same\n", "same\n"), "");
}

TEST(LineDiff, ChangesThatLieApartAreApart) {
  EXPECT_EQ(LineDiff("1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n"),
            "-1\n+x\n 2\n 3\n@@\n 6\n 7\n-8\n+y\n");
}

TEST(LineDiff, LongTextsThatDifferThroughoutAreReplaced) {
  std::string before, after;
  for (int i = 0; i < 5000; ++i) {
    before += "b" + std::to_string(i) + "\n";
    after += "a" + std::to_string(i) + "\n";
  }
  const std::string diff = LineDiff(before, after);
  EXPECT_TRUE(diff.starts_with("-b0\n-b1\n"));
  EXPECT_TRUE(diff.ends_with("+a4998\n+a4999\n"));
}

TEST(SourcesDiff, NamesFilesAndIsCutAtALine) {
  EXPECT_EQ(SourcesDiff({{"a.cu", "x\n"}, {"b.cu", "same\n"}},
                        {{"b.cu", "same\n"}, {"c.cu", "y\n"}}, 1000),
            "a.cu\n-x\nc.cu\n+y\n");
  EXPECT_EQ(SourcesDiff({{"a.cu", "x\n"}}, {{"a.cu", "y\n"}}, 8), "a.cu\n-x\n(more follows)\n");
}

}  // namespace
}  // namespace warpsmith::prompts
