#include "hgemm/bench/measurement_file.h"

#include <cstdio>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/compression.h"
#include "base/text.h"
#include "hgemm/comparison_summary.h"
#include "hgemm/table_text.h"
#include "report/terminal.h"

namespace warpsmith::hgemm {
namespace {

namespace fs = std::filesystem;
using Shapes = std::vector<ShapeMeasurement>;

// Empty where there is no such file.
Result<std::string> TextIfThere(const fs::path& path) {
  std::error_code unknown;
  if (!fs::exists(path, unknown) && !unknown) return std::string();
  return ReadFile(path);
}

Error NotTheTables(const fs::path& path, const std::string& what) {
  return {ErrorCode::kBadInput, path.string() + what,
          "put the samples that belong to the table there, or give --csv another name"};
}

Error OfOtherShapes(const fs::path& path, size_t frames, size_t shapes) {
  return NotTheTables(path, fmt::format(" holds samples of {} shapes, the table beside it has {}",
                                        frames == 0 ? 0 : frames - 1, shapes));
}

// How many of `bytes` are the columns' names and these shapes' samples.
Result<size_t> SampleBytes(const fs::path& path, std::string_view bytes, const Shapes& shapes) {
  const std::vector<std::string_view> frames = WholeFrames(bytes);
  if (frames.empty() && shapes.empty()) return size_t{0};
  if (frames.size() < shapes.size() + 1) return OfOtherShapes(path, frames.size(), shapes.size());
  if (TRY(Decompress(path.string(), frames.front())) != kSampleColumns) {
    return Error{ErrorCode::kBadInput, path.string() + " holds no samples of a comparison",
                 "give --csv another name; docs/files.md says what they look like"};
  }
  size_t whole = frames.front().size();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Problem& problem = shapes[i].problem;
    const std::string lines = TRY(Decompress(path.string(), frames[i + 1]));
    if (!lines.starts_with(ExtentsText(problem) + ",")) {
      return NotTheTables(path, " has none of " + SizesText(problem) + " where the table has it");
    }
    whole += frames[i + 1].size();
  }
  return whole;
}

// To append the next shape's. What a writer may cut off is, behind the table's samples, those of
// one shape, whose rows were not written any more. More than that is another table's.
Result<AppendFile> OpenSamples(const fs::path& path, const Shapes& shapes) {
  const std::string bytes = TRY(TextIfThere(path));
  const size_t frames = WholeFrames(bytes).size();
  const bool torn_columns = frames == 0 && Compress(kSampleColumns).starts_with(bytes);
  if (frames > shapes.size() + 2 || (frames == 0 && !torn_columns)) {
    return OfOtherShapes(path, frames, shapes.size());
  }
  const size_t whole = TRY(SampleBytes(path, bytes, shapes));
  AppendFile file = TRY(AppendFile::Open(path, static_cast<int64_t>(whole)));
  if (whole == 0) TRY(file.Append(Compress(kSampleColumns)));
  return file;
}

}  // namespace

std::string SampleLines(const Problem& problem, Mode mode, std::string_view contender,
                        const ContenderTiming& timing) {
  std::string text;
  for (const Sample& sample : timing.samples) {
    text += fmt::format("{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g}\n", ExtentsText(problem),
                        warpsmith::Name(mode), contender, sample.process, sample.round, sample.us,
                        sample.sm_mhz, sample.temperature_c, sample.power_w);
  }
  return text;
}

fs::path SamplesPath(const fs::path& csv) {
  fs::path path = csv;
  if (path.extension() == ".csv") path.replace_extension();
  path += ".samples.csv.zst";
  return path;
}

Result<MeasurementFile> MeasurementFile::Open(const fs::path& path, const MeasurementTerms& terms) {
  MeasurementFile file;
  file.table_.terms = terms;
  if (path.empty()) return file;
  FileLock lock = TRY(FileLock::Acquire(path.string() + ".lock", path.string(), kNoPatience));
  std::string text = TRY(TextIfThere(path));
  size_t whole_bytes = 0;
  bool is_old = false;
  if (!text.empty()) {
    ReadMeasurements read = TRY(ParseMeasurements(path.string(), text));
    const std::string differing = DifferencesOf(read.table.terms, terms);
    if (!differing.empty()) {
      return Error{ErrorCode::kBadInput,
                   path.string() + " is of another comparison: another " + differing,
                   "give --csv another name, or measure what the file's first lines name"};
    }
    is_old = read.is_old;
    if (is_old) {
      text = ToText(read.table);
      read = TRY(ParseMeasurements(path.string(), text));
    }
    file.table_ = std::move(read.table);
    file.counted_ = std::move(read.counted);
    whole_bytes = read.whole_bytes;
  }
  AppendFile samples = TRY(OpenSamples(SamplesPath(path), file.table_.shapes));
  // Rows of an earlier format are written anew only when the samples beside them have been found to
  // be theirs.
  if (is_old) TRY(WriteFileAtomic(path, text));
  AppendFile rows = TRY(AppendFile::Open(path, static_cast<int64_t>(whole_bytes)));
  file.files_.emplace(Files{std::move(lock), std::move(rows), std::move(samples)});
  if (whole_bytes == 0) TRY(file.files_->rows.Append(file.counted_.Add(HeadText(terms))));
  return file;
}

Status MeasurementFile::AppendRows(const std::string& part) {
  TRY(files_->rows.Append(counted_.Add(part)));
  return files_->rows.Sync();
}

Status MeasurementFile::Append(const MeasurementSession& session, const MeasuredShape& measured) {
  if (Find(table_, measured.shape.problem) != nullptr) {
    return Error{ErrorCode::kBadInput, "a shape was measured twice for one table", ""};
  }
  TRY(CheckWritable(table_.terms, session));
  // Driver and libraries hardly change between two shapes of one call; the date always does.
  MeasurementSession same = session;
  if (!table_.sessions.empty() && begun_) same.date = table_.sessions.back().date;
  const bool goes_on = begun_ && same == table_.sessions.back();
  ShapeMeasurement shape = measured.shape;
  shape.session = goes_on ? table_.sessions.size() - 1 : table_.sessions.size();
  if (files_) {
    TRY(files_->samples.Append(Compress(measured.samples)));
    TRY(files_->samples.Sync());
    TRY(AppendRows((goes_on ? "" : SessionText(session)) + RowsText(table_.terms, shape)));
  }
  if (!goes_on) table_.sessions.push_back(session);
  table_.shapes.push_back(std::move(shape));
  begun_ = true;
  return {};
}

Status MeasurementFile::AddTimes(const ShapeMeasurement& more) {
  for (ShapeMeasurement& shape : table_.shapes) {
    if (shape.problem != more.problem) continue;
    if (files_) TRY(AppendRows(RowsText(table_.terms, more)));
    shape.times.insert(shape.times.end(), more.times.begin(), more.times.end());
  }
  return {};
}

Result<NamedMeasurements> ReadMeasurementFile(const std::string& path) {
  const std::string text = TRY(ReadFile(path));
  if (path.ends_with(".gz")) {
    return Error{ErrorCode::kBadInput, path + " is compressed", "unpack it first: gunzip -k"};
  }
  ReadMeasurements read = TRY(ParseMeasurements(path, text));
  if (read.whole_bytes < text.size()) {
    std::fprintf(stderr, "%s: its end is torn; the %zu shapes before it are taken\n", path.c_str(),
                 read.table.shapes.size());
  }
  return NamedMeasurements{path, std::move(read.table)};
}

Result<MeasurementTable> ReadJoined(const std::vector<std::string>& paths) {
  std::vector<NamedMeasurements> parts;
  for (const std::string& path : paths) parts.push_back(TRY(ReadMeasurementFile(path)));
  return Join(parts);
}

Status WriteJoined(const std::vector<NamedMeasurements>& parts, const MeasurementTable& joined,
                   const fs::path& path) {
  for (const fs::path& file : {path, SamplesPath(path)}) {
    if (!fs::exists(file)) continue;
    return Error{ErrorCode::kConfig,
                 file.string() + " is there already, and a join writes new files only",
                 "give --csv another name, or remove what is there of that name"};
  }
  std::string samples = Compress(kSampleColumns);
  for (const NamedMeasurements& part : parts) {
    const fs::path file = SamplesPath(part.source);
    const std::string bytes = TRY(ReadFile(file));
    const size_t whole = TRY(SampleBytes(file, bytes, part.table.shapes));
    if (whole == 0) continue;
    const size_t header = WholeFrames(bytes).front().size();
    samples += std::string_view(bytes).substr(header, whole - header);
  }
  TRY(WriteFileAtomic(SamplesPath(path), samples));
  return WriteFileAtomic(path, ToText(joined));
}

namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

// The first `words` columns hold words, the others numbers.
struct Columns {
  std::vector<std::string> titles;
  size_t words = 0;
};

std::string Plain(const Columns& columns, const Rows& rows) {
  std::vector<report::Column> heads;
  for (const std::string& title : columns.titles) {
    const bool word = heads.size() < columns.words;
    heads.push_back({title, word ? report::Align::kLeft : report::Align::kRight});
  }
  std::vector<std::vector<report::Cell>> cells;
  for (const auto& row : rows) {
    cells.emplace_back();
    for (const std::string& text : row) cells.back().push_back({text});
  }
  return report::RenderTable(heads, cells, report::Colour::kNone);
}

std::string Markdown(const Columns& columns, const Rows& rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + Joined(cells, " | ") + " |\n";
  };
  std::vector<std::string> rule(columns.words, "---");
  rule.resize(columns.titles.size(), "---:");
  std::string text = line(columns.titles) + line(rule);
  for (const auto& row : rows) text += line(row);
  return text;
}

std::string Render(const Columns& columns, const Rows& rows, TableStyle style) {
  return style == TableStyle::kPlain ? Plain(columns, rows) : Markdown(columns, rows);
}

std::string Title(const std::string& text, TableStyle style) {
  return style == TableStyle::kPlain ? text + "\n\n" : "**" + text + "**\n\n";
}

std::vector<std::string> CellsOf(std::string_view name, std::string_view what,
                                 const RatioSummary& summary) {
  return {std::string(name),
          std::string(what),
          std::to_string(summary.shapes),
          fmt::format("{:.3f}", summary.geomean),
          fmt::format("{:.3f} to {:.3f}", summary.interval.lo, summary.interval.hi),
          std::to_string(summary.faster),
          std::to_string(summary.same),
          std::to_string(summary.slower),
          std::to_string(summary.at_least_one),
          std::to_string(summary.at_least_099),
          fmt::format("{:.3f}", summary.worst),
          SizesText(summary.worst_problem)};
}

void AddPair(std::string_view name, const PairSummary& pair, Rows& rows) {
  rows.push_back(CellsOf(name, "library", pair.library));
  rows.push_back(CellsOf("", "kernel alone", pair.kernel));
  if (pair.plain.shapes > 0) rows.push_back(CellsOf("", "without overlap", pair.plain));
}

std::string ClassTable(const ModeSummary& mode, TableStyle style) {
  const Columns columns{{"class", "of", "shapes", "geomean", "99 % interval", "faster", "same",
                         "slower", ">= 1.00", ">= 0.99", "worst", "at"},
                        2};
  Rows rows;
  for (const auto& [size_class, pair] : mode.classes) AddPair(Name(size_class), pair, rows);
  AddPair("all", mode.all, rows);
  return Title("mode " + std::string(warpsmith::Name(mode.mode)), style) +
         Render(columns, rows, style) + "\n";
}

std::string ExponentTable(const std::vector<ModeSummary>& modes, TableStyle style) {
  Columns columns{{"log2(MNK)", "shapes"}, 0};
  for (const ModeSummary& mode : modes) {
    columns.titles.push_back(std::string(warpsmith::Name(mode.mode)));
    columns.titles.emplace_back("kernel");
  }
  Rows rows;
  for (const auto& [exponent, first] : modes.front().exponents) {
    rows.push_back({std::to_string(exponent), std::to_string(first.library.shapes)});
    for (const ModeSummary& mode : modes) {
      const PairSummary& pair = mode.exponents.at(exponent);
      rows.back().push_back(fmt::format("{:.3f}", pair.library.geomean));
      rows.back().push_back(fmt::format("{:.3f}", pair.kernel.geomean));
    }
  }
  return Title("geometric means by log2(MNK): the library in each mode, and the kernel alone",
               style) +
         Render(columns, rows, style);
}

json SummaryJson(const RatioSummary& summary) {
  return {{"shapes", summary.shapes},
          {"geomean", summary.geomean},
          {"low", summary.interval.lo},
          {"high", summary.interval.hi},
          {"faster", summary.faster},
          {"same", summary.same},
          {"slower", summary.slower},
          {"at_least_1.00", summary.at_least_one},
          {"at_least_0.99", summary.at_least_099},
          {"worst", summary.worst},
          {"worst_shape", SizesText(summary.worst_problem)}};
}

json PairJson(const PairSummary& pair) {
  json value = {{"library", SummaryJson(pair.library)}, {"kernel", SummaryJson(pair.kernel)}};
  if (pair.plain.shapes > 0) value["without_overlap"] = SummaryJson(pair.plain);
  return value;
}

json ModeJson(const ModeSummary& mode) {
  json classes = json::object(), exponents = json::object();
  for (const auto& [size_class, pair] : mode.classes) {
    classes[std::string(Name(size_class))] = PairJson(pair);
  }
  for (const auto& [exponent, pair] : mode.exponents) {
    exponents[std::to_string(exponent)] = PairJson(pair);
  }
  return {{"mode", warpsmith::Name(mode.mode)},
          {"all", PairJson(mode.all)},
          {"classes", classes},
          {"by_log2_mnk", exponents}};
}

json PrimaryJson(const PrimaryStanding& standing) {
  return {{"shapes", standing.shapes},
          {"checked", standing.checked},
          {"chosen_again", standing.chosen_again},
          {"violations", standing.violations},
          {"headline", standing.IsHeadline()}};
}

json RatioJson(double elapsed_us, const PairedRatio& ratio) {
  return {{"us", elapsed_us},
          {"ratio", ratio.value},
          {"low", ratio.interval.lo},
          {"high", ratio.interval.hi}};
}

json SessionJson(const MeasurementSession& session) {
  return {{"date", session.date},       {"driver", session.driver},
          {"toolkit", session.toolkit}, {"baseline", session.baseline},
          {"program", session.program}, {"gpu", session.gpu},
          {"commit", session.commit},   {"command", session.command}};
}

void AddRows(const ShapeMeasurement& shape, json& rows) {
  for (const ModeComparison& mode : shape.modes) {
    rows.push_back({{"shape", SizesText(shape.problem)},
                    {"mode", warpsmith::Name(mode.mode)},
                    {"session", shape.session},
                    {"choice", shape.choice},
                    {"floor_us", shape.roofline_us},
                    {"lt_auto_us", mode.primary_us},
                    {"library", RatioJson(mode.library_us, mode.library)},
                    {"kernel", RatioJson(mode.kernel_us, mode.kernel)}});
    if (mode.plain) rows.back()["without_overlap"] = RatioJson(mode.plain_us, *mode.plain);
  }
}

json TimesJson(const MeasurementTable& table) {
  json rows = json::array();
  for (const ShapeMeasurement& shape : table.shapes) {
    for (const LibraryTime& time : shape.times) {
      rows.push_back({{"m", shape.problem.m},
                      {"n", shape.problem.n},
                      {"k", shape.problem.k},
                      {"name", time.name},
                      {"layout", time.layout},
                      {"dtype", table.terms.dtype},
                      {"mode", warpsmith::Name(time.mode)},
                      {"us", time.us}});
      if (!time.ours) continue;
      rows.back()["ratio"] = time.ours->value;
      rows.back()["interval"] = {time.ours->interval.lo, time.ours->interval.hi};
    }
  }
  return {{"schema", "warpsmith.baselines"},
          {"version", 1},
          {"rows", rows},
          {"bar", PrimaryJson(StandingOf(table))}};
}

std::string TimesText(const MeasurementTable& table) {
  std::string text = fmt::format("{:<20} {:<20} {:<6} {:<12} {:>10}  over our kernel's\n", "shape",
                                 "what", "layout", "mode", "us");
  for (const ShapeMeasurement& shape : table.shapes) {
    for (const LibraryTime& time : shape.times) {
      text += fmt::format("{:<20} {:<20} {:<6} {:<12} {:>10.3f}", SizesText(shape.problem),
                          time.name, time.layout, warpsmith::Name(time.mode), time.us);
      if (time.ours) {
        text += fmt::format("  {:.3f} [{:.3f}, {:.3f}]", time.ours->value, time.ours->interval.lo,
                            time.ours->interval.hi);
      }
      text += "\n";
    }
  }
  return text + Text(StandingOf(table)) + "\n";
}

}  // namespace

std::string SummaryText(const MeasurementTable& table, TableStyle style) {
  if (!table.is_comparison()) return TimesText(table);
  const std::vector<ModeSummary> modes = Summarise(table);
  if (modes.empty()) return "no shape was compared\n";
  const MeasurementSession& last = table.sessions.back();
  std::string text = fmt::format("{}, {} {}, driver {}, {}, {}: {} shapes\n\n", table.terms.device,
                                 table.terms.layout, table.terms.dtype, last.driver, last.baseline,
                                 last.date, table.shapes.size());
  for (const ModeSummary& mode : modes) text += ClassTable(mode, style);
  return text + ExponentTable(modes, style) + "\n" + Text(StandingOf(table)) + "\n";
}

json ToJson(const MeasurementTable& table) {
  if (!table.is_comparison()) return TimesJson(table);
  const MeasurementTerms& terms = table.terms;
  json document = {{"schema", "warpsmith.against"},
                   {"version", 2},
                   {"device", terms.device},
                   {"layout", terms.layout},
                   {"dtype", terms.dtype},
                   {"library", terms.library},
                   {"pack", terms.pack},
                   {"catalogue", terms.catalogue},
                   {"protocol", terms.protocol},
                   {"sessions", json::array()},
                   {"rows", json::array()},
                   {"summary", json::array()},
                   {"bar", PrimaryJson(StandingOf(table))}};
  for (const MeasurementSession& session : table.sessions) {
    document["sessions"].push_back(SessionJson(session));
  }
  for (const ShapeMeasurement& shape : table.shapes) AddRows(shape, document["rows"]);
  for (const ModeSummary& mode : Summarise(table)) document["summary"].push_back(ModeJson(mode));
  return document;
}

}  // namespace warpsmith::hgemm
