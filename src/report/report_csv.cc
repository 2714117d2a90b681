#include "report/report_csv.h"

#include <fmt/format.h>

#include "report/summary.h"

namespace warpsmith::report {
namespace {

std::string CommentLine(std::string_view name, std::string_view text) {
  std::string line = fmt::format("# {}: {}", name, text);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line + "\n";
}

std::string SizeCell(const ShapeReport& shape, std::string_view name) {
  const auto size = shape.sizes.find(name);
  return size == shape.sizes.end() ? "" : std::to_string(size->second);
}

std::string Row(const ShapeReport& shape, const WinnerRow& row) {
  return fmt::format("{},{},{},{},{},{:.4g},{:.4g},{:.4f},{:.4f},{:.4f},{:.4g}\n",
                     SizeCell(shape, "M"), SizeCell(shape, "N"), SizeCell(shape, "K"),
                     Name(row.mode), CsvCell(row.config), row.ours_us, row.primary_us, row.ratio,
                     row.interval.lo, row.interval.hi, row.roofline_us);
}

}  // namespace

std::string CsvCell(std::string_view text) {
  std::string cell(text);
  if (!cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos) {
    cell.insert(cell.begin(), '\'');
  }
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string ToCsv(const RunReport& report) {
  const Origin& origin = report.origin;
  std::string csv = CommentLine("device", origin.device) + CommentLine("driver", origin.driver) +
                    CommentLine("toolkit", origin.toolkit) +
                    CommentLine("baseline", origin.baseline_library) +
                    CommentLine("date", origin.date) + CommentLine("command", origin.command);
  if (!origin.recording.empty()) csv += CommentLine("replayed from", origin.recording);
  csv += "m,n,k,mode,config,ours_us,lt_auto_us,ratio,lo,hi,floor_us\n";
  for (const ShapeReport& shape : report.shapes) {
    for (const WinnerRow& row : shape.winners) csv += Row(shape, row);
  }
  return csv;
}

}  // namespace warpsmith::report
