#include "report/progress_line.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace warpsmith::report {
namespace {

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
