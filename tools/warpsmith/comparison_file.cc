#include "comparison_file.h"

#include <chrono>
#include <cstdio>

#include "base/compressed_frames.h"
#include "base/compression.h"
#include "base/file.h"
#include "hgemm/comparison_text.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kComparisonLockPatience{0};

std::vector<Sizes> SizesIn(const std::vector<hgemm::ShapeComparison>& shapes) {
  std::vector<Sizes> sizes;
  for (const hgemm::ShapeComparison& shape : shapes) {
    sizes.push_back({shape.problem.m, shape.problem.n, shape.problem.k});
  }
  return sizes;
}

Status CheckTerms(const fs::path& path, const hgemm::ComparisonTerms& there,
                  const hgemm::ComparisonTerms& wanted) {
  const std::string differing = hgemm::DifferencesOf(there, wanted);
  if (differing.empty()) return {};
  return Error{ErrorCode::kBadInput,
               path.string() + " is of another comparison: another " + differing,
               "give --csv another name, or measure what the file's first lines name"};
}

}  // namespace

Result<ComparisonFile> ComparisonFile::Open(const fs::path& path,
                                            const hgemm::ComparisonTerms& terms) {
  ComparisonFile file;
  file.table_.terms = terms;
  if (path.empty()) return file;
  FileLock lock =
      TRY(FileLock::Acquire(path.string() + ".lock", path.string(), kComparisonLockPatience));
  const std::string text = TRY(TextIfThere(path));
  size_t whole_bytes = 0;
  if (!text.empty()) {
    hgemm::ReadComparison read = TRY(hgemm::ParseComparison(path.string(), text));
    TRY(CheckTerms(path, read.table.terms, terms));
    file.table_ = std::move(read.table);
    whole_bytes = read.whole_bytes;
  }
  AppendFile samples = TRY(OpenSamples(SamplesPath(path), SizesIn(file.table_.shapes)));
  file.files_.emplace(Files{std::move(lock),
                            TRY(AppendFile::Open(path, static_cast<int64_t>(whole_bytes))),
                            std::move(samples)});
  if (whole_bytes == 0) TRY(file.files_->rows.Append(hgemm::HeadText(terms)));
  return file;
}

Status ComparisonFile::Append(const hgemm::ComparisonSession& session,
                              const MeasuredShape& measured) {
  if (hgemm::Find(table_, measured.shape.problem) != nullptr) {
    return Error{ErrorCode::kBadInput, "a shape was measured twice for one table", ""};
  }
  TRY(hgemm::CheckWritable(table_.terms, session));
  // Driver and libraries hardly change between two shapes of one call; the date always does.
  hgemm::ComparisonSession same = session;
  if (!table_.sessions.empty() && begun_) same.date = table_.sessions.back().date;
  const bool goes_on = begun_ && same == table_.sessions.back();
  hgemm::ShapeComparison shape = measured.shape;
  shape.session = goes_on ? table_.sessions.size() - 1 : table_.sessions.size();
  if (files_) {
    TRY(files_->samples.Append(Compress(measured.samples)));
    TRY(files_->samples.Sync());
    TRY(files_->rows.Append((goes_on ? "" : hgemm::SessionText(session)) +
                            hgemm::RowsText(table_.terms, shape)));
    TRY(files_->rows.Sync());
  }
  if (!goes_on) table_.sessions.push_back(session);
  table_.shapes.push_back(std::move(shape));
  begun_ = true;
  return {};
}

Result<hgemm::NamedComparison> ReadComparisonFile(const std::string& path) {
  const std::string text = TRY(ReadFile(path));
  hgemm::ReadComparison read = TRY(hgemm::ParseComparison(path, text));
  if (read.whole_bytes < text.size()) {
    std::fprintf(stderr, "%s: its end is torn; the %zu shapes before it are taken\n", path.c_str(),
                 read.table.shapes.size());
  }
  return hgemm::NamedComparison{path, std::move(read.table)};
}

Result<hgemm::ComparisonTable> ReadJoined(const std::vector<std::string>& paths) {
  std::vector<hgemm::NamedComparison> parts;
  for (const std::string& path : paths) parts.push_back(TRY(ReadComparisonFile(path)));
  return hgemm::Join(parts);
}

Status WriteJoined(const std::vector<hgemm::NamedComparison>& parts,
                   const hgemm::ComparisonTable& joined, const fs::path& path) {
  for (const fs::path& file : {path, SamplesPath(path)}) {
    if (!fs::exists(file)) continue;
    return Error{ErrorCode::kConfig,
                 file.string() + " is there already, and a join writes new files only",
                 "give --csv another name, or remove what is there of that name"};
  }
  std::string samples = Compress(kSampleColumns);
  for (const hgemm::NamedComparison& part : parts) {
    const fs::path file = SamplesPath(part.source);
    const std::string bytes = TRY(ReadFile(file));
    const size_t whole = TRY(SampleBytes(file, bytes, SizesIn(part.table.shapes)));
    if (whole == 0) continue;
    const size_t header = WholeFrames(bytes).front().size();
    samples += std::string_view(bytes).substr(header, whole - header);
  }
  TRY(WriteFileAtomic(SamplesPath(path), samples));
  return WriteFileAtomic(path, hgemm::ToText(joined));
}

}  // namespace warpsmith::cli
