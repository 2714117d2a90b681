#include "report/terminal.h"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>

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

TEST(RenderFailed, SaysWhyAndHowManyMore) {
  RunReport report;
  report.shapes.resize(1);
  report.shapes[0].task = report.shapes[0].workload = "w";
  EXPECT_EQ(RenderFailed(report, 1, Colour::kNone), "");
  report.shapes[0].failed = {{3, "incorrect", "off by\x1b[31m 2"}, {5, "timed-out", "after 10 s"}};
  EXPECT_EQ(RenderFailed(report, 1, Colour::kNone),
            "\nshape  evaluation  why it failed\n"
            "-----  ----------  -------------\n"
            "w w             3  off by?[31m 2\n"
            "1 more: --json has all\n");
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

const Progress kSome{.label = "64x64x64 (1/12)",
                     .evaluations = 34,
                     .planned = 200,
                     .best_ratio = 1.0834,
                     .failed = {{"compile-failed", 2}, {"incorrect", 3}},
                     .seconds_left = 80};

// What `use` makes a ProgressLine write.
std::string Written(const TerminalStyle& style, const std::function<void(ProgressLine&)>& use,
                    Lines lines = Lines::kPassing) {
  char* text = nullptr;
  size_t bytes = 0;
  std::FILE* memory = open_memstream(&text, &bytes);
  ProgressLine line(memory, style, lines);
  use(line);
  std::fclose(memory);
  std::string written(text, bytes);
  std::free(text);
  return written;
}

TEST(ProgressText, SaysEvaluationsBestRejectionsAndTimeLeft) {
  EXPECT_EQ(
      ProgressText(kSome),
      "64x64x64 (1/12)  34/200  best screened 1.083x  failed 5: 2 compile-failed, 3 incorrect  "
      "1m20s left");
  EXPECT_EQ(ProgressText({.label = "x", .failed = {}, .seconds_left = {}}), "x  0  best -");
  EXPECT_EQ(ProgressText({.label = "x", .best_ratio = -1, .failed = {}, .seconds_left = {}}),
            "x  0");
  EXPECT_FALSE(SecondsLeft(5, 0, 3).has_value());
  EXPECT_EQ(SecondsLeft(5, 1, 3), 10);
}

TEST(ProgressLine, PrintsAPlainLineEveryTenSecondsIntoAPipe) {
  const std::string text = Written({}, [](ProgressLine& line) {
    for (int half = 0; half < 50; ++half) line.Update(kSome, half * 0.5);
    line.Clear();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(ProgressLine, RedrawsInPlaceAndFitsTheTerminal) {
  const std::string text = Written({Colour::kAnsi, true, 40}, [](ProgressLine& line) {
    line.Update(kSome, 0);
    line.Update(kSome, 0.01);
    line.Update(kSome, 0.2);
    line.Clear();
  });
  const std::string once = "\r\x1b[K" + ProgressText(kSome).substr(0, 39);
  EXPECT_EQ(text, once + once + "\r\x1b[K");
}

TEST(ProgressLine, LeavesEveryLineWithNewsWhereAskedTo) {
  Progress better = kSome, last = kSome;
  better.best_ratio = 1.5;
  better.evaluations = 199;
  last.evaluations = 200;
  const auto use = [&](ProgressLine& line) {
    for (const Progress& one : {kSome, better, better, last, last}) line.Update(one, 0);
    line.Clear();
  };
  const auto lines = [&](size_t width) {
    std::string text;
    for (const Progress& one : {kSome, better, last, last}) {
      text += ProgressText(one).substr(0, width) + "\n";
    }
    return text;
  };
  EXPECT_EQ(Written({}, use, Lines::kStaying), lines(1000));
  EXPECT_EQ(Written({Colour::kAnsi, true, 40}, use, Lines::kStaying), lines(39));
}

TEST(DurationText, PicksItsUnits) {
  EXPECT_EQ(DurationText(0.4), "0s");
  EXPECT_EQ(DurationText(45), "45s");
  EXPECT_EQ(DurationText(80), "1m20s");
  EXPECT_EQ(DurationText(7500), "2h05m");
  EXPECT_THAT(DurationText(-5), "0s");
}

}  // namespace

}  // namespace warpsmith::report
