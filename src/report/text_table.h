// Columns aligned with spaces, in ASCII: readable in a terminal and in a pipe alike.
#ifndef WARPSMITH_REPORT_TEXT_TABLE_H_
#define WARPSMITH_REPORT_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::report {

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

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_TEXT_TABLE_H_
