#include <array>
#include <cstdio>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/sha256.h"
#include "hgemm/catalogue.h"
#include "hgemm/cells.h"

namespace warpsmith::hgemm {
namespace {

constexpr std::array<std::string_view, 18> kCatalogueColumns = {
    "m",       "n",         "k",     "layout",   "dtype",   "device",       "choice",
    "kernel",  "candidate", "plan",  "artifact", "results", "architecture", "driver",
    "toolkit", "library",   "level", "date"};
constexpr double kLargestNumber = 1e9;
constexpr size_t kMostParameters = 64, kMostResults = 64;

constexpr const char* kCatalogueFix =
    "docs/files.md says what a row holds; 'warpsmith hgemm catalogue make' "
    "writes a catalogue";
constexpr FirstLine kCatalogueFirstLine{
    "catalogue", kCatalogueVersion, kCatalogueFix,
    "use the version of warpsmith that wrote it, or make it again"};

Error BadCatalogue(const Place& place, const std::string& what) {
  return BadAt(place, what, kCatalogueFix);
}

Result<int64_t> Extent(const Place& place, std::string_view name, std::string_view cell) {
  const auto value = NumberOf<int64_t>(cell);
  if (value && *value >= 1 && *value <= kLargestExtent) return *value;
  return BadCatalogue(place, std::string(name) + ": expected 1 to " +
                                 std::to_string(kLargestExtent) + ", found '" + std::string(cell) +
                                 "'");
}

Result<double> Positive(const Place& place, std::string_view text) {
  const auto value = NumberOf<double>(text);
  if (value && *value > 0 && *value <= kLargestNumber) return *value;
  return BadCatalogue(place,
                      "results: expected a number above 0, found '" + std::string(text) + "'");
}

// "device cublaslt-auto 1.157 2.076 1.797 1.785 1.809"
Result<CatalogueResult> ResultOf(const Place& place, std::string_view text) {
  const std::vector<std::string_view> words = Split(text, ' ');
  if (words.size() != 7) {
    return BadCatalogue(place,
                        "results: expected 'mode baseline kernel_us baseline_us ratio low high', "
                        "found '" +
                            std::string(text) + "'");
  }
  const std::optional<Mode> mode = ModeFromName(words[0]);
  if (!mode) return BadCatalogue(place, "results: no mode '" + std::string(words[0]) + "'");
  if (words[1].empty()) return BadCatalogue(place, "results: a baseline has no name");
  CatalogueResult result;
  result.mode = *mode;
  result.baseline = words[1];
  result.kernel_us = TRY(Positive(place, words[2]));
  result.baseline_us = TRY(Positive(place, words[3]));
  result.ratio = TRY(Positive(place, words[4]));
  result.interval = {TRY(Positive(place, words[5])), TRY(Positive(place, words[6]))};
  if (result.interval.lo > result.interval.hi) {
    return BadCatalogue(place, "results: an interval's ends are the wrong way round");
  }
  return result;
}

Result<std::vector<CatalogueResult>> ResultsOf(const Place& place, std::string_view cell) {
  const std::vector<std::string_view> parts = Split(cell, ';');
  if (parts.size() > kMostResults) return BadCatalogue(place, "more than 64 results");
  std::vector<CatalogueResult> results;
  std::set<std::pair<Mode, std::string>> seen;
  for (std::string_view part : parts) {
    results.push_back(TRY(ResultOf(place, part)));
    if (!seen.emplace(results.back().mode, results.back().baseline).second) {
      return BadCatalogue(place, "results: a mode stands twice beside one baseline, '" +
                                     std::string(part.substr(0, 80)) + "'");
    }
  }
  return results;
}

Result<std::string> Hash(const Place& place, std::string_view name, std::string_view cell) {
  const bool digits = cell.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (digits && cell.size() == 64) return std::string(cell);
  return BadCatalogue(place, std::string(name) + ": expected 64 hexadecimal digits, found '" +
                                 std::string(cell.substr(0, 80)) + "'");
}

Result<std::string> Filled(const Place& place, std::string_view name, std::string_view cell) {
  if (!cell.empty()) return std::string(cell);
  return BadCatalogue(place, std::string(name) + " is empty");
}

Result<Problem> ProblemOf(const Place& place, std::span<const std::string_view> cells) {
  Problem problem{TRY(Extent(place, "m", cells[0])), TRY(Extent(place, "n", cells[1])),
                  TRY(Extent(place, "k", cells[2]))};
  const std::optional<Layout> layout = LayoutFromText(cells[3]);
  if (!layout) {
    return BadCatalogue(place, "layout: expected NN or TN, found '" + std::string(cells[3]) + "'");
  }
  problem.layout = *layout;
  return problem;
}

Result<Choice> ChoiceOf(const Place& place, std::string_view cell) {
  for (const Choice choice : {Choice::kKernel, Choice::kCublasLt}) {
    if (cell == Name(choice)) return choice;
  }
  return BadCatalogue(place,
                      "choice: expected kernel or cublaslt, found '" + std::string(cell) + "'");
}

Result<CatalogueRow> RowOf(const Place& place, std::string_view text) {
  const std::vector<std::string_view> cells = Split(text, ',');
  if (cells.size() != kCatalogueColumns.size()) {
    return BadCatalogue(place, "expected " + std::to_string(kCatalogueColumns.size()) +
                                   " cells, found " + std::to_string(cells.size()));
  }
  CatalogueRow row;
  row.problem = TRY(ProblemOf(place, cells));
  const std::optional<DType> dtype = DTypeFromName(cells[4]);
  if (dtype != DType::kF16 && dtype != DType::kBF16) {
    return BadCatalogue(place,
                        "dtype: expected f16 or bf16, found '" + std::string(cells[4]) + "'");
  }
  row.problem.dtype = *dtype;
  row.device = TRY(Filled(place, "device", cells[5]));
  row.choice = TRY(ChoiceOf(place, cells[6]));
  auto kernel = PointFromName(cells[7]);
  if (!kernel.ok()) return BadCatalogue(place, "kernel: " + kernel.error().message);
  row.kernel = *std::move(kernel);
  row.candidate = TRY(Hash(place, "candidate", cells[8]));
  row.plan_id = TRY(Hash(place, "plan", cells[9]));
  row.artifact = TRY(Hash(place, "artifact", cells[10]));
  row.results = TRY(ResultsOf(place, cells[11]));
  row.architecture = TRY(Filled(place, "architecture", cells[12]));
  row.driver = TRY(Filled(place, "driver", cells[13]));
  row.toolkit = TRY(Filled(place, "toolkit", cells[14]));
  row.library = TRY(Filled(place, "library", cells[15]));
  row.level = TRY(Filled(place, "level", cells[16]));
  row.date = TRY(Filled(place, "date", cells[17]));
  return row;
}

std::string Header() {
  std::string header;
  for (std::string_view column : kCatalogueColumns) {
    header += (header.empty() ? "" : ",") + std::string(column);
  }
  return header;
}

// A line before the header tells of header and rows, comments left out, so that a text that was cut at a
// line's end is no smaller catalogue. Catalogues without it are read, too.
constexpr std::string_view kWholeBetween = " rows, sha256 ";

std::string WholeText(size_t rows, const std::string& lines) {
  return "# " + std::to_string(rows) + std::string(kWholeBetween) + Sha256Hex(lines);
}

Status CheckIsWhole(std::string_view source, std::string_view whole, size_t rows,
                    const std::string& lines) {
  if (whole.empty() || whole == WholeText(rows, lines)) return {};
  return Error{ErrorCode::kBadInput,
               std::string(source) + " is not what was written: it has " + std::to_string(rows) +
                   " rows, and says of itself: " + Quoted(whole),
               "if you changed it, remove that line; else make it or fetch it again"};
}

std::string NumberText(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string ResultText(const CatalogueResult& result) {
  return std::string(Name(result.mode)) + " " + result.baseline + " " +
         NumberText("%.5g", result.kernel_us) + " " + NumberText("%.5g", result.baseline_us) + " " +
         NumberText("%.4f", result.ratio) + " " + NumberText("%.4f", result.interval.lo) + " " +
         NumberText("%.4f", result.interval.hi);
}

// The header and every row, in the order of their keys.
std::string LinesOf(const Catalogue& catalogue) {
  std::vector<const CatalogueRow*> rows;
  for (const CatalogueRow& row : catalogue.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return KeyOf(*a) < KeyOf(*b); });
  std::string lines = Header() + "\n";
  for (const CatalogueRow* row : rows) lines += RowText(*row) + "\n";
  return lines;
}

}  // namespace

std::vector<CatalogueResult> AsWritten(std::vector<CatalogueResult> results) {
  for (CatalogueResult& result : results) {
    const auto read = ResultOf({}, ResultText(result));
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
  Place place{source, 0};
  bool has_header = false;
  std::string_view whole;  // the line that tells of the others
  std::string lines;       // header and rows
  while (!text.empty() || place.line == 0) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++place.line == 1) {
      TRY(CheckFirstLine(kCatalogueFirstLine, place, line));
    } else if (line.empty() || line.starts_with('#')) {
      if (!has_header && line.find(kWholeBetween) != line.npos) whole = line;
      continue;
    } else if (!has_header) {
      if (line != Header()) return BadCatalogue(place, "expected the header '" + Header() + "'");
      has_header = true;
      lines += std::string(line) + "\n";
    } else {
      lines += std::string(line) + "\n";
      catalogue.rows.push_back(TRY(RowOf(place, line)));
    }
  }
  if (!has_header) return BadCatalogue(place, "it ends before the header '" + Header() + "'");
  TRY(CheckIsWhole(source, whole, catalogue.rows.size(), lines));
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
  std::string results;
  for (const CatalogueResult& result : row.results) {
    results += (results.empty() ? "" : ";") + ResultText(result);
  }
  std::string line = std::to_string(row.problem.m) + "," + std::to_string(row.problem.n) + "," +
                     std::to_string(row.problem.k) + "," + LayoutText(row.problem.layout) + "," +
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
  return Sha256Hex(kCatalogueFirstLine.Text() + "\n" + LinesOf(catalogue));
}

Result<std::string> ToText(const Catalogue& catalogue) {
  const std::string lines = LinesOf(catalogue);
  std::string text =
      kCatalogueFirstLine.Text() + "\n" + WholeText(catalogue.rows.size(), lines) + "\n" + lines;
  TRY(ParseCatalogue("the catalogue", text));
  return text;
}

}  // namespace warpsmith::hgemm
