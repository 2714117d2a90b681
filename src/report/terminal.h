// What a report looks like in a terminal, and what the terminal can take.
#ifndef WARPSMITH_REPORT_TERMINAL_H_
#define WARPSMITH_REPORT_TERMINAL_H_

#include <functional>
#include <string>
#include <string_view>

#include "report/run_report.h"
#include "report/text_table.h"

namespace warpsmith::report {

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

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_TERMINAL_H_
