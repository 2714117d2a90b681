#include "hgemm/measured_cells.h"

#include <cstdio>

namespace warpsmith::hgemm {
namespace {

constexpr double kLargestCell = 1e12;

}  // namespace

std::optional<std::string_view> Lines::Next() {
  const size_t end = rest_.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  bytes_ += end + 1;
  ++place_.line;
  return line;
}

Result<std::string_view> Lines::NextOfHead(const char* fix) {
  if (const auto line = Next()) return *line;
  return BadAt({place_.source, place_.line + 1}, "the head is cut off", fix);
}

Result<Cells> Cells::Of(const Place& place, std::string_view line, size_t columns,
                        const char* fix) {
  Cells cells(place, fix);
  cells.cells_ = Split(line, ',');
  if (cells.cells_.size() == columns) return cells;
  return cells.Bad("expected " + std::to_string(columns) + " cells, found " +
                   std::to_string(cells.cells_.size()));
}

Result<double> Cells::Number(size_t column, std::string_view name, bool may_be_zero) const {
  const auto value = NumberOf<double>(cells_[column]);
  if (value && *value <= kLargestCell && (*value > 0 || (may_be_zero && *value == 0))) {
    return *value;
  }
  return Bad(std::string(name) + ": expected a number above 0, found " + Quoted(cells_[column]));
}

Result<PairedRatio> Cells::Ratio(size_t first) const {
  PairedRatio ratio{TRY(Number(first, "ratio")),
                    {TRY(Number(first + 1, "lo")), TRY(Number(first + 2, "hi"))}};
  if (ratio.interval.lo <= ratio.value && ratio.value <= ratio.interval.hi) return ratio;
  return Bad("a ratio lies outside its interval");
}

Result<std::array<int64_t, 3>> Cells::Extents() const {
  std::array<int64_t, 3> extents{};
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto value = NumberOf<int64_t>(cells_[i]);
    if (!value || *value < 1 || *value > kLargestExtent) {
      return Bad("m, n, k: expected 1 to " + std::to_string(kLargestExtent) + ", found " +
                 Quoted(cells_[i]));
    }
    extents[i] = *value;
  }
  return extents;
}

Result<Mode> Cells::ModeAt(size_t column) const {
  if (const std::optional<Mode> mode = ModeFromName(cells_[column])) return *mode;
  return Bad("no mode " + Quoted(cells_[column]));
}

std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, ",%.6g", value);
  return text;
}

std::string RatioText(const PairedRatio& ratio) {
  return NumberText(ratio.value) + NumberText(ratio.interval.lo) + NumberText(ratio.interval.hi);
}

}  // namespace warpsmith::hgemm
