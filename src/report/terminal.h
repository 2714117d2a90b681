// What a report looks like in a terminal, and what the terminal can take.
#ifndef WARPSMITH_REPORT_TERMINAL_H_
#define WARPSMITH_REPORT_TERMINAL_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_report.h"

namespace warpsmith::report {

// --- Columns aligned with spaces, in ASCII: readable in a terminal and in a pipe alike.

enum class Align : uint8_t { kLeft, kRight };
enum class Tone : uint8_t { kPlain, kGood, kBad, kDim };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

enum class Colour : uint8_t { kNone, kAnsi };

// A header line, a rule, one line a row; no trailing spaces. Cells are cleaned by Printable.
std::string RenderTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, Colour colour);

// Text that cannot move a terminal's cursor or colours: control bytes become '?', and so does every
// byte outside ASCII.
std::string Printable(std::string_view text);

// In ANSI's colours, or as it is.
std::string Paint(std::string_view text, Tone tone, Colour colour);

struct TerminalStyle {
  Colour colour = Colour::kNone;
  bool redraws = false;  // the last line may be rewritten
  int width = 100;       // columns
};

// Of the file descriptor, honouring NO_COLOR (any value, not empty) and TERM=dumb.
TerminalStyle StyleOf(int descriptor);
// The same from its parts: what `getenv` answers (null: not set), and the terminal's width, 0 when
// it is none.
TerminalStyle ChooseStyle(const std::function<const char*(const char*)>& environment,
                          int terminal_width);

// Words in lines of at most `width` columns, as far as they fit, each after two spaces.
std::string Wrapped(std::string_view text, int width);

// One line a shape, in its headline mode, the tally, and where the numbers come from.
std::string RenderReport(const RunReport& report, const TerminalStyle& style);
// Why evaluations failed, a line each: the first `most`, then how many more there are. Empty where
// none did.
std::string RenderFailed(const RunReport& report, size_t most, Colour colour);

// --- The live line of a long command: redrawn in place on a terminal, a plain line now and then
// elsewhere; or every update as a line that stays.

struct Progress {
  std::string label;                      // "4096x4096x4096 (3/12)"
  int64_t evaluations = 0, planned = 0;   // planned 0: not known
  double best_ratio = 0;                  // 0: none yet; below: there is no such thing
  std::map<std::string, int64_t> failed;  // outcome -> count
  std::optional<double> seconds_left;
  std::string more = {};  // at the end of the line
};

// "4096x4096x4096 (3/12)  34/200  best screened 1.083x  failed 2: 2 incorrect  1m20s left"
std::string ProgressText(const Progress& progress);

// By the pace so far; nothing while nothing is done.
std::optional<double> SecondsLeft(double elapsed_s, size_t done, size_t all);

// "45s", "1m20s", "2h05m".
std::string DurationText(double seconds);

enum class Lines : uint8_t {
  kPassing,  // where only the latest matters
  // Where all would have passed before any could be read, as in a replay. What has no news but the
  // count of evaluations is left out, unless it is the last.
  kStaying,
};

// Not thread-safe. `now_s` is any clock that does not go back.
class ProgressLine {
 public:
  // `out` outlives this; nothing else writes to it between Update and Clear.
  ProgressLine(std::FILE* out, const TerminalStyle& style, Lines lines = Lines::kPassing)
      : out_(out), style_(style), lines_(lines) {}

  // At most ten redraws a second, or one line every ten seconds; of those that stay, all with news.
  void Update(const Progress& progress, double now_s);
  // Wipes the live line, so that other text can be written. Plain lines stay.
  void Clear();

 private:
  std::FILE* out_;
  TerminalStyle style_;
  Lines lines_;
  double next_s_ = 0;
  std::string said_;  // the latest staying line's news
  bool drawn_ = false;
};

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_TERMINAL_H_
