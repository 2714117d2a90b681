#include <array>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "hgemm/catalogue.h"
#include "hgemm/table_text.h"

namespace warpsmith::hgemm {
namespace {

constexpr std::array<std::string_view, 18> kCatalogueColumns = {
    "m",       "n",         "k",     "layout",   "dtype",   "device",       "choice",
    "kernel",  "candidate", "plan",  "artifact", "results", "architecture", "driver",
    "toolkit", "library",   "level", "date"};
constexpr double kLargestNumber = 1e9;
constexpr size_t kMostParameters = 64, kMostResults = 64;

constexpr TableKind kCatalogueKind{
    "catalogue", kCatalogueVersion,
    "docs/files.md says what a row holds; 'warpsmith hgemm catalogue make' writes a catalogue"};

// "device cublaslt-auto 1.157 2.076 1.797 1.785 1.809"; what is wrong with it otherwise.
Result<CatalogueResult> ResultOf(std::string_view text) {
  const std::vector<std::string_view> words = Split(text, ' ');
  const auto bad = [](const std::string& what) {
    return Error{ErrorCode::kBadInput, "results: " + what, ""};
  };
  if (words.size() != 7) {
    return bad("expected 'mode baseline kernel_us baseline_us ratio low high', found '" +
               std::string(text) + "'");
  }
  CatalogueResult result;
  const std::optional<Mode> mode = ModeFromName(words[0]);
  if (!mode) return bad("no mode " + Quoted(words[0]));
  if (words[1].empty()) return bad("a baseline has no name");
  result.mode = *mode;
  result.baseline = words[1];
  double* const numbers[] = {&result.kernel_us, &result.baseline_us, &result.ratio,
                             &result.interval.lo, &result.interval.hi};
  for (size_t i = 0; i < std::size(numbers); ++i) {
    const auto value = NumberOf<double>(words[i + 2]);
    if (!value || !(*value > 0) || *value > kLargestNumber) {
      return bad("expected a number above 0, found " + Quoted(words[i + 2]));
    }
    *numbers[i] = *value;
  }
  if (result.interval.lo <= result.interval.hi) return result;
  return bad("an interval's ends are the wrong way round");
}

Result<std::vector<CatalogueResult>> ResultsOf(const Cells& cells) {
  const std::vector<std::string_view> parts = Split(cells["results"], ';');
  if (parts.size() > kMostResults) return cells.Bad("more than 64 results");
  std::vector<CatalogueResult> results;
  std::set<std::pair<Mode, std::string>> seen;
  for (std::string_view part : parts) {
    const Result<CatalogueResult> result = ResultOf(part);
    if (!result.ok()) return cells.Bad(result.error().message);
    if (!seen.emplace(result->mode, result->baseline).second) {
      return cells.Bad("results: a mode stands twice beside one baseline, " + Quoted(part));
    }
    results.push_back(*result);
  }
  return results;
}

Result<std::string> HashIn(const Cells& cells, std::string_view column) {
  const std::string_view cell = cells[column];
  const bool digits = cell.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (digits && cell.size() == 64) return std::string(cell);
  return cells.Bad(std::string(column) + ": expected 64 hexadecimal digits, found " + Quoted(cell));
}

Result<CatalogueRow> RowOf(const Cells& cells) {
  CatalogueRow row;
  row.problem = TRY(cells.Extents());
  const std::optional<Layout> layout = LayoutFromText(cells["layout"]);
  if (!layout) return cells.Bad("layout: expected NN or TN, found " + Quoted(cells["layout"]));
  row.problem.layout = *layout;
  row.problem.dtype = TRY(cells.HalfType());
  row.device = TRY(cells.Filled("device"));
  if (cells["choice"] == Name(Choice::kKernel)) {
    row.choice = Choice::kKernel;
  } else if (cells["choice"] != Name(Choice::kCublasLt)) {
    return cells.Bad("choice: expected kernel or cublaslt, found " + Quoted(cells["choice"]));
  }
  auto kernel = PointFromName(cells["kernel"]);
  if (!kernel.ok()) return cells.Bad("kernel: " + kernel.error().message);
  row.kernel = *std::move(kernel);
  row.candidate = TRY(HashIn(cells, "candidate"));
  row.plan_id = TRY(HashIn(cells, "plan"));
  row.artifact = TRY(HashIn(cells, "artifact"));
  row.results = TRY(ResultsOf(cells));
  row.architecture = TRY(cells.Filled("architecture"));
  row.driver = TRY(cells.Filled("driver"));
  row.toolkit = TRY(cells.Filled("toolkit"));
  row.library = TRY(cells.Filled("library"));
  row.level = TRY(cells.Filled("level"));
  row.date = TRY(cells.Filled("date"));
  return row;
}

// A line before the header tells of header and rows, comments left out, so that a text that was cut
// at a line's end, or whose rows were changed, is no other catalogue.
constexpr std::string_view kCountBetween = " rows, sha256 ";

std::string CountLine(size_t rows, const std::string& lines) {
  return "# " + std::to_string(rows) + std::string(kCountBetween) + Sha256Hex(lines);
}

// `found`: what the text says of itself; empty where it says nothing.
Status CheckIsWhole(std::string_view source, std::string_view found, size_t rows,
                    const std::string& lines) {
  const std::string expected = CountLine(rows, lines);
  if (found == expected) return {};
  const std::string fix =
      "make it or fetch it again; if you changed it yourself, write before the columns: " +
      expected;
  if (found.empty()) {
    return Error{ErrorCode::kBadInput,
                 std::string(source) + " lacks the line '# N rows, sha256 ...' before its columns",
                 fix};
  }
  return Error{ErrorCode::kBadInput,
               std::string(source) + " is not what was written: it has " + std::to_string(rows) +
                   " rows, and says of itself: " + Quoted(found),
               fix};
}

std::string ResultText(const CatalogueResult& result) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, " %.5g %.5g %.4f %.4f %.4f", result.kernel_us,
                result.baseline_us, result.ratio, result.interval.lo, result.interval.hi);
  return std::string(Name(result.mode)) + " " + result.baseline + numbers;
}

// The header and every row, in the order of their keys.
std::string LinesOf(const Catalogue& catalogue) {
  std::vector<const CatalogueRow*> rows;
  for (const CatalogueRow& row : catalogue.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return KeyOf(*a) < KeyOf(*b); });
  std::string lines = ColumnsText(kCatalogueColumns) + "\n";
  for (const CatalogueRow* row : rows) lines += RowText(*row) + "\n";
  return lines;
}

}  // namespace

std::vector<CatalogueResult> AsWritten(std::vector<CatalogueResult> results) {
  for (CatalogueResult& result : results) {
    const auto read = ResultOf(ResultText(result));
    if (read.ok()) result = *read;
  }
  return results;
}

Result<Point> PointFromName(std::string_view text) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::kBadInput, what + " in '" + std::string(text.substr(0, 200)) + "'", ""};
  };
  const std::vector<std::string_view> words = Split(text, ' ');
  if (words.front().empty()) return bad("no kernel family");
  if (words.size() > kMostParameters) return bad("more than 64 parameters");
  Point point{std::string(words.front()), {}};
  for (std::string_view word : std::span(words).subspan(1)) {
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) return bad("expected name=value");
    const auto value = NumberOf<int64_t>(word.substr(equals + 1));
    if (!value) return bad("expected a whole number");
    if (!point.config.emplace(word.substr(0, equals), *value).second) {
      return bad("a parameter stands twice");
    }
  }
  return point;
}

Result<Catalogue> ParseCatalogue(std::string_view source, std::string_view text) {
  Catalogue catalogue;
  std::string ended;
  if (!text.ends_with('\n')) text = ended = std::string(text) + "\n";
  TableText table(kCatalogueKind, source, text);
  TRY(table.Version());
  std::string_view counted;  // the line that tells of the others
  std::string lines;         // header and rows
  while (const auto line = table.Next()) {
    if (line->empty() || line->starts_with('#')) {
      if (lines.empty() && line->find(kCountBetween) != line->npos) counted = *line;
      continue;
    }
    if (lines.empty()) {
      TRY(table.TakeColumns(*line, kCatalogueColumns));
    } else {
      catalogue.rows.push_back(TRY(RowOf(TRY(table.Row(*line)))));
    }
    lines += std::string(*line) + "\n";
  }
  if (lines.empty()) TRY(table.NextOfHead());
  TRY(CheckIsWhole(source, counted, catalogue.rows.size(), lines));
  std::stable_sort(catalogue.rows.begin(), catalogue.rows.end(),
                   [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); });
  for (size_t i = 1; i < catalogue.rows.size(); ++i) {
    if (KeyOf(catalogue.rows[i - 1]) != KeyOf(catalogue.rows[i])) continue;
    return Error{ErrorCode::kBadInput,
                 std::string(source) + ": two rows of " + KeyText(catalogue.rows[i]),
                 "'warpsmith hgemm catalogue merge' keeps the better of two catalogues' rows"};
  }
  return catalogue;
}

std::string RowText(const CatalogueRow& row) {
  const std::string results = Joined(row.results, ";", ResultText);
  std::string line = ExtentsText(row.problem) + "," + LayoutText(row.problem.layout) + "," +
                     std::string(warpsmith::Name(row.problem.dtype)) + "," + row.device + "," +
                     std::string(Name(row.choice));
  for (const std::string& cell :
       {PointName(row.kernel), row.candidate, row.plan_id, row.artifact, results, row.architecture,
        row.driver, row.toolkit, row.library, row.level, row.date}) {
    line += "," + cell;
  }
  return line;
}

Result<std::string> CatalogueHash(const Catalogue& catalogue) {
  TRY(ToText(catalogue));
  return Sha256Hex(kCatalogueKind.FirstLine() + LinesOf(catalogue));
}

Result<std::string> ToText(const Catalogue& catalogue) {
  const std::string lines = LinesOf(catalogue);
  std::string text =
      kCatalogueKind.FirstLine() + CountLine(catalogue.rows.size(), lines) + "\n" + lines;
  TRY(ParseCatalogue("the catalogue", text));
  return text;
}

}  // namespace warpsmith::hgemm
