#include "report/terminal.h"

#include <gmock/gmock.h>

#include <map>

#include "report/tests/sample_report.h"

namespace warpsmith::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TerminalStyle StyleWith(std::map<std::string, const char*> variables, int width) {
  return ChooseStyle(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second;
      },
      width);
}

TEST(ChooseStyle, APipeGetsPlainLines) {
  const TerminalStyle style = StyleWith({{"TERM", "xterm"}}, 0);
  EXPECT_EQ(style.colour, Colour::kNone);
  EXPECT_FALSE(style.redraws);
}

TEST(ChooseStyle, NoColorLeavesTheLiveLine) {
  const TerminalStyle style = StyleWith({{"TERM", "xterm"}, {"NO_COLOR", "1"}}, 120);
  EXPECT_EQ(style.colour, Colour::kNone);
  EXPECT_TRUE(style.redraws);
  EXPECT_EQ(style.width, 120);
  EXPECT_EQ(StyleWith({{"TERM", "xterm"}, {"NO_COLOR", ""}}, 120).colour, Colour::kAnsi);
}

TEST(ChooseStyle, ADumbTerminalIsNeitherPaintedNorRedrawn) {
  for (const char* term : {"dumb", ""}) {
    const TerminalStyle style = StyleWith({{"TERM", term}}, 80);
    EXPECT_EQ(style.colour, Colour::kNone);
    EXPECT_FALSE(style.redraws);
  }
}

TEST(RenderReport, PlainTextHasNoControlBytesAndNoTrailingSpaces) {
  const std::string text = RenderReport(SampleReport(), {});
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << int{c};
  EXPECT_THAT(text, Not(HasSubstr(" \n")));
  EXPECT_THAT(text, HasSubstr("device: 8 faster, 1 the same, 3 slower, 0 not shown"));
  EXPECT_THAT(text, HasSubstr("replayed from h200-hgemm.wsrec"));
}

TEST(RenderReport, AShapeWithoutAWinnerSaysSo) {
  RunReport report = SampleReport();
  report.shapes[3].winners.clear();
  const std::string text = RenderReport(report, {});
  EXPECT_THAT(text, HasSubstr("nothing passed"));
  EXPECT_THAT(text, HasSubstr("1 without a result"));
}

TEST(RenderReport, LinesFitTheTerminal) {
  for (const int width : {80, 100, 132, 200}) {
    const std::string text = RenderReport(SampleReport(), {Colour::kNone, true, width});
    const std::string table = text.substr(0, text.find("\n\n"));
    for (size_t begin = 0, end = 0; begin < table.size(); begin = end + 1) {
      end = std::min(table.find('\n', begin), table.size());
      EXPECT_LE(end - begin, static_cast<size_t>(width)) << table.substr(begin, end - begin);
    }
    EXPECT_THAT(table, HasSubstr("faster"));
  }
}

TEST(RenderReport, BelowTheFloorIsNeverPraised) {
  RunReport report = SampleReport();
  report.shapes[1].winners[0].below_roofline = true;
  const std::string text = RenderReport(report, {Colour::kAnsi, true, 100});
  EXPECT_THAT(text, HasSubstr("\x1b[31mbelow floor!"));
}

TEST(RenderTable, AlignsColumns) {
  EXPECT_EQ(RenderTable({{"name"}, {"us", Align::kRight}}, {{{"a"}, {"1.5"}}, {{"long"}, {"12"}}},
                        Colour::kNone),
            "name   us\n----  ---\na     1.5\nlong   12\n");
}

TEST(Printable, HasNoEscapeSequences) { EXPECT_EQ(Printable("a\x1b[31m\xc3\xa9\n"), "a?[31m???"); }

TEST(Wrapped, BreaksBetweenWordsAlone) {
  EXPECT_EQ(Wrapped("one two three", 9), "  one two\n  three");
  EXPECT_EQ(Wrapped("sesquipedalian a", 5), "  sesquipedalian\n  a");
  EXPECT_EQ(Wrapped("", 5), "  ");
}

}  // namespace
}  // namespace warpsmith::report
