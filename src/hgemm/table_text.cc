#include "hgemm/table_text.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace warpsmith::hgemm {
namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 24;
constexpr double kLargestCell = 1e12;

}  // namespace

std::string Quoted(std::string_view text) { return "'" + std::string(text.substr(0, 80)) + "'"; }

std::string_view Cells::operator[](std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  return found == columns_.end() ? "" : cells_[static_cast<size_t>(found - columns_.begin())];
}

Result<std::string> Cells::Filled(std::string_view column) const {
  if (const std::string_view cell = (*this)[column]; !cell.empty()) return std::string(cell);
  return Bad(std::string(column) + " is empty");
}

Result<double> Cells::Number(std::string_view column, bool may_be_zero) const {
  const auto value = NumberOf<double>((*this)[column]);
  if (value && *value <= kLargestCell && (*value > 0 || (may_be_zero && *value == 0))) {
    return *value;
  }
  return Bad(std::string(column) + ": expected a number above 0, found " + Quoted((*this)[column]));
}

Result<PairedRatio> Cells::Ratio(const std::string& suffix) const {
  PairedRatio ratio{TRY(Number("ratio" + suffix)),
                    {TRY(Number("lo" + suffix)), TRY(Number("hi" + suffix))}};
  if (ratio.interval.lo <= ratio.value && ratio.value <= ratio.interval.hi) return ratio;
  return Bad("a ratio lies outside its interval");
}

Result<Problem> Cells::Extents() const {
  Problem problem;
  for (const auto& [column, extent] :
       {std::pair("m", &problem.m), {"n", &problem.n}, {"k", &problem.k}}) {
    const auto value = NumberOf<int64_t>((*this)[column]);
    if (!value || *value < 1 || *value > kLargestExtent) {
      return Bad(std::string(column) + ": expected 1 to " + std::to_string(kLargestExtent) +
                 ", found " + Quoted((*this)[column]));
    }
    *extent = *value;
  }
  return problem;
}

Result<DType> Cells::HalfType() const {
  const auto dtype = DTypeFromName((*this)["dtype"]);
  if (dtype == DType::kF16 || dtype == DType::kBF16) return *dtype;
  return Bad("dtype: expected f16 or bf16, found " + Quoted((*this)["dtype"]));
}

Result<Mode> Cells::ModeIn() const {
  if (const std::optional<Mode> mode = ModeFromName((*this)["mode"])) return *mode;
  return Bad("no mode " + Quoted((*this)["mode"]));
}

Error Cells::Bad(const std::string& what) const {
  return {ErrorCode::kBadInput, place_ + what, fix_};
}

std::string TableText::Place() const { return source_ + ":" + std::to_string(line_) + ": "; }

Error TableText::Bad(const std::string& what) const {
  return {ErrorCode::kBadInput, Place() + what, kind_.fix};
}

Result<int> TableText::Version() {
  const std::string start = kind_.Start(), name(kind_.name);
  const std::string_view line = TRY(NextOfHead());
  if (!line.starts_with(start)) return Bad("not a " + name + ": expected '" + start + "1'");
  const std::string_view version = line.substr(start.size());
  const auto number = NumberOf<int>(version);
  if (number && *number >= 1 && *number <= kind_.version) return *number;
  return Error{ErrorCode::kVersion,
               Place() + name + " of version " + Quoted(version) + ", this program reads version " +
                   std::to_string(kind_.version),
               "use the version of warpsmith that wrote it, or make it again"};
}

std::optional<std::string_view> TableText::Next() {
  const size_t end = rest_.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  bytes_ += end + 1;
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::string_view> TableText::NextOfHead() {
  if (const auto line = Next()) return *line;
  ++line_;
  return Bad("the head is cut off");
}

Result<std::string> TableText::NextOfHead(const std::string& start) {
  const std::string_view line = TRY(NextOfHead());
  if (line.starts_with(start) && line.size() > start.size()) {
    return std::string(line.substr(start.size()));
  }
  return Bad("expected '" + start + "...', found " + Quoted(line));
}

Status TableText::TakeColumns(std::string_view line, std::span<const std::string_view> wanted,
                              size_t optional) {
  for (const size_t count : {wanted.size(), wanted.size() - optional}) {
    if (line != ColumnsText(wanted.first(count))) continue;
    columns_.assign(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count));
    return {};
  }
  return Bad("expected the columns '" + ColumnsText(wanted) + "', found " + Quoted(line));
}

Result<Cells> TableText::Row(std::string_view line) const { return Note(line, columns_); }

Result<Cells> TableText::Note(std::string_view cells,
                              std::span<const std::string_view> columns) const {
  std::vector<std::string_view> parts = Split(cells, ',');
  if (parts.size() == columns.size()) return Cells(Place(), kind_.fix, columns, std::move(parts));
  return Bad("expected " + std::to_string(columns.size()) + " cells, found " +
             std::to_string(parts.size()));
}

std::string ColumnsText(std::span<const std::string_view> columns) { return Joined(columns, ","); }

std::string ExtentsText(const Problem& problem) {
  return std::to_string(problem.m) + "," + std::to_string(problem.n) + "," +
         std::to_string(problem.k);
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
