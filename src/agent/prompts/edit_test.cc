#include "agent/prompts/edit.h"

#include <gtest/gtest.h>

#include <chrono>

#include "agent/prompts/prompt_values.h"

namespace warpsmith::prompts {
namespace {

std::string Apply(const std::string& file, const std::string& search, const std::string& replace,
                  std::optional<size_t> line = {}) {
  const auto text = ApplyEdit(file, {"edit 1 of 'k.cu'", search, replace, line});
  return text.ok() ? *text : "error: " + text.error().message;
}

TEST(Edit, WholeLinesComeBeforePartsOfLines) {
  EXPECT_EQ(Apply("xab\nab\nabx\n", "ab\n", "c\n"), "xab\nc\nabx\n");
  EXPECT_EQ(Apply("int a = 16;\n", "16", "32"), "int a = 32;\n");
}

TEST(Edit, TakesTheOnlyPlaceThatDiffersInWhiteSpace) {
  EXPECT_EQ(Apply("{\n\tif (a  < b)\n\t  c();\n}\n", "\n  if (a < b)\n    c();\n\n", "  d();\n"),
            "{\n  d();\n}\n");
  EXPECT_EQ(Apply("ab\n", "a b\n", "c\n"),
            "error: edit 1 of 'k.cu': no place in the file has the lines that begin with 'a b'");
}

TEST(Edit, RefusesSeveralPlaces) {
  EXPECT_EQ(Apply("a;\nb;\na;\n", "a;\n", "c;\n"),
            "error: edit 1 of 'k.cu': 2 places have the lines that begin with 'a;'; give more of "
            "them");
  EXPECT_EQ(Apply(" a;\nb;\n  a;\n", "\ta;\n", "c;\n"),
            "error: edit 1 of 'k.cu': 2 places have the lines that begin with 'a;'; give more of "
            "them");
  EXPECT_EQ(Apply("aaa\n", "aa", "b"),
            "error: edit 1 of 'k.cu': 2 places have the lines that begin with 'aa'; give more of "
            "them");
}

TEST(Edit, ALineNumberDecidesBetweenEqualPlaces) {
  EXPECT_EQ(Apply("a;\nb;\na;\n", "a;\n", "c;\n", 3), "a;\nb;\nc;\n");
  EXPECT_EQ(Apply("b;\na;\n", "a;\n", "c;\n", 77), "b;\nc;\n");  // models miscount
  EXPECT_TRUE(Apply("a;\nb;\na;\n", "a;\n", "c;\n", 2).starts_with("error: "));
}

TEST(Edit, DeletesAndKeepsTheLastLineAsItIs) {
  EXPECT_EQ(Apply("a\nb\nc", "b\n", ""), "a\nc");
  EXPECT_EQ(Apply("a\nb", "b\n", "c\n"), "a\nc\n");
  EXPECT_EQ(Apply("a\nb\n", "a\nb\n", ""), "");
}

TEST(Edit, AnEmptySearchFitsAnEmptyFile) {
  EXPECT_EQ(Apply("", "", "a\n"), "a\n");
  EXPECT_EQ(Apply("b\n", "\n", "a\n"), "error: edit 1 of 'k.cu': says nothing of what to replace");
}

// Where comparing line by line at each place would take 10^10 steps.
TEST(Edit, RepetitiveTextsTakeNoLonger) {
  std::string file, search;
  for (int i = 0; i < 100'000; ++i) file += "x\n";
  for (int i = 0; i < 50'000; ++i) search += "x\n";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Apply(file, search + "y\n", "z\n").starts_with("error: "));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

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
