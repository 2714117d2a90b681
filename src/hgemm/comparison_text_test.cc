#include "hgemm/comparison_text.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "hgemm/test_comparison.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

std::string ComparisonErrorOf(const std::string& text) {
  const auto read = ParseComparison("c.csv", text);
  return read.ok() ? "" : read.error().message;
}

std::string ComparisonWith(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string GoodComparison() { return ToText(SampleTable()); }

TEST(ComparisonTextTest, ReadsWhatItWrites) {
  const auto read = ParseComparison("c.csv", GoodComparison());
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ToText(read->table), GoodComparison());
  EXPECT_EQ(read->whole_bytes, GoodComparison().size());
  EXPECT_EQ(read->table.terms, SampleTerms());
  ASSERT_EQ(read->table.shapes.size(), 2U);
  EXPECT_EQ(read->table.shapes[1].choice, "cublaslt");
  EXPECT_EQ(read->table.shapes[1].modes[3].mode, Mode::kServer);
  EXPECT_DOUBLE_EQ(read->table.shapes[1].modes[3].kernel.value, 0.9);
  EXPECT_EQ(read->table.sessions[0], SampleSession());
}

TEST(ComparisonTextTest, HasTheColumnsOfTheEvidenceFile) {
  EXPECT_THAT(GoodComparison(),
              HasSubstr("\nm,n,k,layout,dtype,mode,choice,kernel_us,ours_us,lt_auto_us,"
                        "ratio_kernel,lo_kernel,hi_kernel,ratio,lo,hi,floor_us,"
                        "plain_us,ratio_plain,lo_plain,hi_plain\n"));
  EXPECT_THAT(GoodComparison(),
              HasSubstr("\n64,64,64,TN,f16,device,tiny warp_m=16 warp_n=8,2,2.5,3,1.5,"
                        "1.494,1.506,1.5,1.494,1.506,0.25,,,,\n"));
}

TEST(ComparisonTextTest, NamesLineAndFieldOfWhatIsWrong) {
  EXPECT_THAT(ComparisonErrorOf(""), HasSubstr("c.csv:1: the head is cut off"));
  EXPECT_THAT(ComparisonErrorOf("m,n,k,mode\n"), HasSubstr("c.csv:1: not a comparison"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), "# pack: none\n", "")),
              HasSubstr("c.csv:6: expected '# pack"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), "ours_us", "theirs_us")),
              HasSubstr("expected the columns"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), "layout: TN", "layout: TT")),
              HasSubstr("expected layout"));
  EXPECT_THAT(
      ComparisonErrorOf(ComparisonWith(GoodComparison(), "# session: date", "# session: day")),
      HasSubstr("session"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), "# session", "# note")),
              HasSubstr("before the first"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), "\n64,64,64", "\n0,64,64")),
              HasSubstr("c.csv:11: m, n, k"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",TN,f16", ",NN,f16")),
              HasSubstr("the head says TN"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",device,", ",dev,")),
              HasSubstr("no mode 'dev'"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",2.5,", ",nan,")),
              HasSubstr("ours_us: expected"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",2.5,", ",inf,")),
              HasSubstr("ours_us: expected"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",2.5,", ",-1,")),
              HasSubstr("ours_us: expected"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",2.5,", ",2.5,7,")),
              HasSubstr("expected 21 cells"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), "1.494,1.506", "1.506,1.494")),
              HasSubstr("its interval"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), ",0.25,", ",0.5,")),
              HasSubstr("floor_us must be the same"));
}

TEST(ComparisonTextTest, AShapeStandsOnceWithEveryModeInOrder) {
  const std::string rows = RowsText(SampleTerms(), SampleShape({64, 64, 64}, 1.5));
  EXPECT_THAT(ComparisonErrorOf(GoodComparison() + rows),
              HasSubstr("c.csv:19: 64x64x64 stands twice"));
  const std::string first = rows.substr(0, rows.find('\n') + 1);
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), first, "")),
              HasSubstr("64x64x64: expected its row of mode"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(GoodComparison(), first, first + first)),
              HasSubstr("'device-cold'"));
}

TEST(ComparisonTextTest, RefusesAnotherVersionWithItsOwnCode) {
  const auto read =
      ParseComparison("c.csv", ComparisonWith(GoodComparison(), "version 1", "version 2"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kVersion);
}

TEST(ComparisonTextTest, KeepsWhatWasFoundBesideTheBar) {
  ComparisonTable table = SampleTable();
  table.shapes[0].bar_check = BarCheck{6, 1, {}};
  table.shapes[1].bar_check =
      BarCheck{6, 2, {{Mode::kServer, "cublas-tn", Ratio(1.05)}, {Mode::kOffline, "x", Ratio(2)}}};
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr("\n# bar checked: 64,64,64,6,1\n64,64,64,"));
  EXPECT_THAT(text, HasSubstr("\n# faster than the bar: 64,128,64,server,cublas-tn,1.05,"));
  const auto read = ParseComparison("c.csv", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ToText(read->table), text);
  const BarStanding standing = StandingOf(read->table);
  EXPECT_EQ(standing.checked, 2U);
  EXPECT_EQ(standing.chosen_again, 1U);
  EXPECT_EQ(standing.violations, 2U);
  EXPECT_EQ(StandingOf(SampleTable()).checked, 0U);
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(text, "checked: 64,64,64", "checked: 64,64,65")),
              HasSubstr("of another shape than the rows"));
  EXPECT_THAT(ComparisonErrorOf(ComparisonWith(text, "bar: 64,128,64", "bar: 64,128,65")),
              HasSubstr("another shape"));
}

TEST(ComparisonTextTest, ASessionMayLackWhatCameLater) {
  const std::string old = ComparisonWith(
      GoodComparison(),
      "; gpu=GPU-1a2b3c4d; commit=0123abc; command=warpsmith hgemm bench --against lib.so; x", "");
  const auto read = ParseComparison("c.csv", old);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->table.sessions[0].program, "0.1.0");
  EXPECT_EQ(read->table.sessions[0].command, "");
  EXPECT_EQ(ToText(read->table), old);
}

TEST(ComparisonTextTest, KeepsTheKernelWithoutLaunchOverlap) {
  ComparisonTable table = SampleTable();
  table.shapes[0].modes[1].plain_us = 2.25;
  table.shapes[0].modes[1].plain = Ratio(1.25);
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr(",0.25,2.25,1.25,1.245,1.255\n"));
  const auto read = ParseComparison("c.csv", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ToText(read->table), text);
}

// Tables that were written before the kernel was measured without overlap, too.
TEST(ComparisonTextTest, ReadsATableWithoutThoseColumns) {
  std::string old = ComparisonWith(GoodComparison(), ",plain_us,ratio_plain,lo_plain,hi_plain", "");
  for (size_t at = old.find(",,,,\n"); at != std::string::npos; at = old.find(",,,,\n")) {
    old.erase(at, 4);
  }
  const auto read = ParseComparison("c.csv", old);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->table.shapes.size(), 2U);
  EXPECT_EQ(read->whole_bytes, old.size());
  EXPECT_EQ(ToText(read->table), GoodComparison());
}

// Wherever a writer was killed, all shapes before it are there, and going on from the whole part
// gives what an undisturbed writer would have written.
TEST(ComparisonTextTest, AFileThatWasCutOffKeepsItsWholeShapes) {
  const std::string text = GoodComparison();
  const std::string head = HeadText(SampleTerms());
  const size_t one_shape = text.find("\n64,128,64") + 1;
  EXPECT_TRUE(rc::check([&] {
    const auto bytes = *rc::gen::inRange(head.size(), text.size() + 1);
    const auto read = ParseComparison("c.csv", std::string_view(text).substr(0, bytes));
    RC_ASSERT(read.ok());
    const size_t shapes = read->table.shapes.size();
    RC_ASSERT(shapes == (bytes == text.size() ? 2U : bytes >= one_shape ? 1U : 0U));
    RC_ASSERT(read->whole_bytes == (shapes == 2   ? text.size()
                                    : shapes == 1 ? one_shape
                                                  : head.size()));
    RC_ASSERT(read->table.sessions.size() == (shapes == 0 ? 0U : 1U));
  }));
}

TEST(ComparisonTextTest, AnyTableIsReadAsItWasWritten) {
  EXPECT_TRUE(rc::check([] {
    ComparisonTable table{SampleTerms(), {SampleSession("a"), SampleSession("b")}, {}};
    const auto count = *rc::gen::inRange<int64_t>(0, 5);
    for (int64_t i = 0; i < count; ++i) {
      const double ratio = *rc::gen::inRange(1, 100'000) / 10'000.0;
      table.shapes.push_back(
          SampleShape({1 + *rc::gen::inRange<int64_t>(0, 1 << 24), 7, 1 + i}, ratio));
      table.shapes.back().session = i < 2 ? 0 : 1;
      table.shapes.back().modes[2].kernel = Ratio(*rc::gen::inRange(1, 100'000) / 777.0, 0.3);
    }
    const std::string text = ToText(table);
    const auto read = ParseComparison("c.csv", text);
    RC_ASSERT(read.ok());
    RC_ASSERT(read->table.shapes.size() == table.shapes.size());
    RC_ASSERT(ToText(read->table) == text);
  }));
}

// Whatever a byte of the file becomes, reading it ends in a table that can be written, or in words.
TEST(ComparisonTextTest, ADamagedByteIsNoMatter) {
  const std::string good = GoodComparison();
  EXPECT_TRUE(rc::check([&] {
    std::string text = good;
    text[*rc::gen::inRange<size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    const auto read = ParseComparison("c.csv", text);
    if (!read.ok()) {
      RC_ASSERT(!read.error().message.empty());
      return;
    }
    const auto again = ParseComparison("c.csv", ToText(read->table));
    RC_ASSERT(again.ok());
  }));
}

TEST(ComparisonTextTest, RefusesToWriteWhatItCouldNotRead) {
  ComparisonTerms terms = SampleTerms();
  EXPECT_TRUE(CheckWritable(terms, SampleSession()).ok());
  terms.device = "a\nb";
  EXPECT_FALSE(CheckWritable(terms, SampleSession()).ok());
  ComparisonSession session = SampleSession();
  session.driver = "1; toolkit=2";
  EXPECT_FALSE(CheckWritable(SampleTerms(), session).ok());
  session.driver = "";
  EXPECT_FALSE(CheckWritable(SampleTerms(), session).ok());
}

}  // namespace
}  // namespace warpsmith::hgemm
