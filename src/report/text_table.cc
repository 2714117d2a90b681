#include "report/text_table.h"

#include <algorithm>

namespace warpsmith::report {
namespace {

std::string_view Code(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string Pad(const std::string& text, size_t width, Align align) {
  const std::string spaces(width - std::min(width, text.size()), ' ');
  return align == Align::kLeft ? text + spaces : spaces + text;
}

std::string TrimRight(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return clean;
}

std::string Paint(std::string_view text, Tone tone, Colour colour) {
  const std::string_view code = Code(tone);
  if (colour == Colour::kNone || code.empty()) return std::string(text);
  return std::string(code) + std::string(text) + "\x1b[0m";
}

std::string RenderTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, Colour colour) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = columns[i].title.size();
    for (const std::vector<Cell>& row : rows) width = std::max(width, row[i].text.size());
    widths.push_back(width);
  }
  std::string header, rule;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string gap = i == 0 ? "" : "  ";
    header += gap + Pad(columns[i].title, widths[i], columns[i].align);
    rule += gap + std::string(widths[i], '-');
  }
  std::string table = TrimRight(header) + rule + "\n";
  for (const std::vector<Cell>& row : rows) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string padded = Pad(Printable(row[i].text), widths[i], columns[i].align);
      line += (i == 0 ? "" : "  ") + Paint(padded, row[i].tone, colour);
    }
    table += TrimRight(line);
  }
  return table;
}

}  // namespace warpsmith::report
