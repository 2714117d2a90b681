#include "hgemm/bench/measurement_file.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/compression.h"
#include "base/file.h"
#include "hgemm/table_text.h"

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

}  // namespace warpsmith::hgemm
