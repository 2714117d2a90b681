#include "hgemm/library_times.h"

#include <algorithm>

#include "hgemm/cells.h"
#include "hgemm/measured_cells.h"

namespace warpsmith::hgemm {
namespace {

constexpr std::string_view kLibraryTerms = "# terms: ", kLibrarySession = "# session: ";
constexpr std::string_view kLibraryFaster = "# faster than the bar: ";
constexpr size_t kLibraryFasterCells = 8;
constexpr std::string_view kLibraryColumns = "m,n,k,name,layout,dtype,mode,us,ratio,lo,hi";
constexpr size_t kLibraryColumnCount = 11;
constexpr const char* kLibraryFix =
    "'warpsmith hgemm bench --csv FILE' writes such a table: docs/files.md";
constexpr FirstLine kLibraryFirstLine{
    "library table", kLibraryTimesVersion, kLibraryFix,
    "use the version of warpsmith that wrote it, or measure again"};

Error BadLibraryTimes(const Place& place, const std::string& what) {
  return BadAt(place, what, kLibraryFix);
}

Result<FasterThanBar> LibraryFasterIn(const Place& place, std::string_view text) {
  const Cells cells = TRY(Cells::Of(place, text, kLibraryFasterCells, kLibraryFix));
  FasterThanBar faster{TRY(cells.Extents()), {TRY(cells.ModeAt(3)), std::string(cells[4]), {}}};
  if (faster.what.name.empty()) return cells.Bad("the name is empty");
  faster.what.ratio = TRY(cells.Ratio(5));
  return faster;
}

// Terms, sessions and what is faster than the bar; then the columns.
Status LibraryHeadIn(Lines& lines, LibraryTable& table) {
  const std::string_view first = TRY(lines.NextOfHead(kLibraryFix));
  TRY(CheckFirstLine(kLibraryFirstLine, lines.place(), first));
  const std::string_view terms = TRY(lines.NextOfHead(kLibraryFix));
  if (!terms.starts_with(kLibraryTerms) || terms.size() == kLibraryTerms.size()) {
    return BadLibraryTimes(
        lines.place(), "expected '" + std::string(kLibraryTerms) + "...', found " + Quoted(terms));
  }
  table.terms = terms.substr(kLibraryTerms.size());
  std::string_view columns = TRY(lines.NextOfHead(kLibraryFix));
  for (; columns.starts_with(kLibrarySession); columns = TRY(lines.NextOfHead(kLibraryFix))) {
    table.sessions.emplace_back(columns.substr(kLibrarySession.size()));
  }
  for (; columns.starts_with(kLibraryFaster); columns = TRY(lines.NextOfHead(kLibraryFix))) {
    table.faster.push_back(
        TRY(LibraryFasterIn(lines.place(), columns.substr(kLibraryFaster.size()))));
  }
  if (columns == kLibraryColumns) return {};
  return BadLibraryTimes(lines.place(), "expected the columns '" + std::string(kLibraryColumns) +
                                            "', found " + Quoted(columns));
}

Result<LibraryTime> TimeIn(const Cells& cells) {
  LibraryTime time;
  time.name = cells[3];
  time.layout = cells[4];
  if (time.name.empty() || time.layout.empty()) return cells.Bad("name or layout is empty");
  time.mode = TRY(cells.ModeAt(6));
  time.us = TRY(cells.Number(7, "us"));
  if (!(cells[8].empty() && cells[9].empty() && cells[10].empty())) time.ours = TRY(cells.Ratio(8));
  return time;
}

}  // namespace

const LibraryTimes* Find(const LibraryTable& table, const std::array<int64_t, 3>& shape) {
  const auto found = std::find_if(table.shapes.begin(), table.shapes.end(),
                                  [&](const LibraryTimes& one) { return one.shape == shape; });
  return found == table.shapes.end() ? nullptr : &*found;
}

bool Has(const LibraryTimes& shape, std::string_view name) {
  return std::any_of(shape.times.begin(), shape.times.end(),
                     [&](const LibraryTime& time) { return time.name == name; });
}

namespace {

double LibraryTimeOf(const LibraryTimes& shape, std::string_view name, std::string_view layout,
                     Mode mode) {
  for (const LibraryTime& time : shape.times) {
    if (time.name == name && time.layout == layout && time.mode == mode) return time.us;
  }
  return 0;
}

// torch.matmul's rows that are below the bar's.
size_t FasterUnpaired(const LibraryTimes& shape) {
  size_t faster = 0;
  for (const LibraryTime& time : shape.times) {
    if (time.name != kTorchLibrary) continue;
    const double bar_us = LibraryTimeOf(shape, kBar, "max", time.mode);
    if (bar_us > 0 && IsViolationUnpaired(bar_us, time.us)) ++faster;
  }
  return faster;
}

}  // namespace

BarStanding StandingOf(const LibraryTable& table) {
  BarStanding standing{table.shapes.size(), 0, 0, table.faster.size()};
  for (const LibraryTimes& shape : table.shapes) {
    standing.checked += Has(shape, kBar) ? 1 : 0;
    standing.violations += FasterUnpaired(shape);
  }
  return standing;
}

std::string ToText(const LibraryTable& table) {
  std::string text =
      kLibraryFirstLine.Text() + "\n" + std::string(kLibraryTerms) + table.terms + "\n";
  for (const std::string& session : table.sessions)
    text += std::string(kLibrarySession) + session + "\n";
  for (const FasterThanBar& faster : table.faster) {
    text += kLibraryFaster;
    for (const int64_t extent : faster.shape) text += std::to_string(extent) + ",";
    text += std::string(warpsmith::Name(faster.what.mode)) + "," + faster.what.name +
            RatioText(faster.what.ratio) + "\n";
  }
  text += std::string(kLibraryColumns) + "\n";
  for (const LibraryTimes& shape : table.shapes) {
    for (const LibraryTime& time : shape.times) {
      for (const int64_t extent : shape.shape) text += std::to_string(extent) + ",";
      text += time.name + "," + time.layout + "," + table.dtype + "," +
              std::string(warpsmith::Name(time.mode)) + NumberText(time.us) +
              (time.ours ? RatioText(*time.ours) : ",,,") + "\n";
    }
  }
  return text;
}

Result<LibraryTable> ParseLibraryTable(std::string_view source, std::string_view text) {
  LibraryTable table;
  Lines lines(source, text);
  TRY(LibraryHeadIn(lines, table));
  while (const auto line = lines.Next()) {
    const Cells cells = TRY(Cells::Of(lines.place(), *line, kLibraryColumnCount, kLibraryFix));
    const std::array<int64_t, 3> shape = TRY(cells.Extents());
    if (table.shapes.empty() || table.shapes.back().shape != shape) {
      if (Find(table, shape) != nullptr) return cells.Bad("a shape's rows stand apart");
      table.shapes.push_back({shape, {}});
    }
    if (table.dtype.empty()) table.dtype = cells[5];
    if (cells[5].empty() || cells[5] != table.dtype) return cells.Bad("more than one dtype");
    table.shapes.back().times.push_back(TRY(TimeIn(cells)));
  }
  if (lines.bytes() < text.size()) {
    return BadLibraryTimes({source, lines.place().line + 1}, "the last line is cut off");
  }
  return table;
}

}  // namespace warpsmith::hgemm
