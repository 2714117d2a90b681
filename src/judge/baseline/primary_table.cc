#include "judge/baseline/primary_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/file.h"
#include "base/median.h"
#include "base/text.h"

namespace warpsmith::baseline {
namespace {

struct Line {
  std::string_view source;
  int number = 0;
  std::vector<std::string_view> cells;
};

Error Bad(const Line& line, const std::string& what) {
  return {ErrorCode::kBadInput,
          std::string(line.source) + ":" + std::to_string(line.number) + ": " + what,
          "the table is CSV with a header that names m, n, k and the time's column"};
}

template <typename T>
Result<T> NumberIn(const Line& line, size_t column) {
  if (column >= line.cells.size()) return Bad(line, "the line is too short");
  const std::string_view cell = line.cells[column];
  T value{};
  const auto parsed = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == cell.data() + cell.size();
  if (whole && value > 0) return value;
  return Bad(line, "expected a number above 0, found '" + std::string(cell) + "'");
}

struct Columns {
  std::array<size_t, 3> shape{};
  size_t time = 0;
};

Result<Columns> FindColumns(const Line& header, std::string_view time_column) {
  const auto find = [&](std::string_view name) -> Result<size_t> {
    const auto found = std::find(header.cells.begin(), header.cells.end(), name);
    if (found == header.cells.end()) return Bad(header, "no column '" + std::string(name) + "'");
    return static_cast<size_t>(found - header.cells.begin());
  };
  return Columns{{TRY(find("m")), TRY(find("n")), TRY(find("k"))}, TRY(find(time_column))};
}

}  // namespace

Result<PrimaryTable> ParsePrimaryTable(std::string_view source, std::string_view text,
                                       std::string_view column) {
  PrimaryTable table;
  std::optional<Columns> columns;
  Line line{source, 0, {}};
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (content.ends_with('\r')) content.remove_suffix(1);
    ++line.number;
    if (content.empty() || content.starts_with('#')) continue;
    line.cells = Split(content, ',');
    if (!columns) {
      columns = TRY(FindColumns(line, column));
      continue;
    }
    ShapeKey shape{};
    for (size_t i = 0; i < 3; ++i) shape[i] = TRY(NumberIn<int64_t>(line, columns->shape[i]));
    table[shape] = TRY(NumberIn<double>(line, columns->time));
  }
  if (!columns) return Bad(line, "there is no header");
  return table;
}

Result<PrimaryTable> ReadPrimaryTable(const std::filesystem::path& path, std::string_view column) {
  return ParsePrimaryTable(path.string(), TRY(ReadFile(path)), column);
}

Result<PrimaryComparison> ComparePrimaries(const PrimaryTable& measured, const PrimaryTable& known,
                                           double tolerance) {
  PrimaryComparison comparison;
  std::vector<double> relatives;
  for (const auto& [shape, measured_us] : measured) {
    const auto found = known.find(shape);
    if (found == known.end()) continue;
    const PrimaryDifference difference{shape, measured_us, found->second};
    relatives.push_back(difference.relative());
    if (std::abs(difference.relative()) > tolerance) comparison.differences.push_back(difference);
  }
  if (relatives.empty()) {
    return Error{ErrorCode::kNothingMeasured,
                 "none of the " + std::to_string(measured.size()) +
                     " measured shapes is in the table of " + std::to_string(known.size()),
                 "measure shapes that the table has"};
  }
  comparison.shapes = static_cast<int>(relatives.size());
  comparison.median_relative = Median(std::move(relatives));
  std::sort(comparison.differences.begin(), comparison.differences.end(),
            [](const PrimaryDifference& a, const PrimaryDifference& b) {
              return std::abs(a.relative()) > std::abs(b.relative());
            });
  return comparison;
}

}  // namespace warpsmith::baseline
