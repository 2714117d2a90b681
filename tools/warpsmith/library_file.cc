#include "library_file.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "comparison_file.h"
#include "comparison_shape.h"
#include "util/compressed_frames.h"
#include "util/compression.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLockPatience{0};
constexpr const char* kAnotherName = "give --csv another name";

}  // namespace

Result<LibraryFile> LibraryFile::Open(const fs::path& path, const std::string& terms,
                                      const std::string& dtype) {
  LibraryFile file;
  file.table_ = {terms, dtype, {}};
  file.samples_ = Compress(kSampleColumns);
  if (path.empty()) return file;
  file.path_ = path;
  file.lock_.emplace(TRY(FileLock::Acquire(path.string() + ".lock", path.string(), kLockPatience)));
  TRY(file.GoOn());
  return file;
}

// A samples file may be ahead of its table by the shape that a killed writer was at.
Status LibraryFile::GoOn() {
  std::error_code unknown;
  if (!fs::exists(path_, unknown) && !unknown) return {};
  hgemm::LibraryTable there = TRY(hgemm::ParseLibraryTable(path_.string(), TRY(ReadFile(path_))));
  if (there.terms != table_.terms) {
    return Error{ErrorCode::kBadInput,
                 path_.string() + " is of other terms: " + there.terms + "; now: " + table_.terms,
                 kAnotherName};
  }
  const fs::path samples = SamplesPath(path_);
  const std::string bytes = TRY(ReadFile(samples));
  const std::vector<std::string_view> frames = WholeFrames(bytes);
  if (frames.size() < there.shapes.size() + 1 || frames.size() > there.shapes.size() + 2) {
    return Error{ErrorCode::kBadInput,
                 samples.string() + " does not hold the samples of " + path_.string(),
                 kAnotherName};
  }
  samples_.clear();
  for (size_t i = 0; i <= there.shapes.size(); ++i) samples_ += frames[i];
  table_.shapes = std::move(there.shapes);
  return {};
}

Status LibraryFile::WriteTable() const {
  return path_.empty() ? Status{} : WriteFileAtomic(path_, hgemm::ToText(table_));
}

Status LibraryFile::Append(const hgemm::LibraryTimes& shape, const std::string& samples) {
  samples_ += Compress(samples);
  table_.shapes.push_back(shape);
  if (!path_.empty()) TRY(WriteFileAtomic(SamplesPath(path_), samples_));
  return WriteTable();
}

Status LibraryFile::Add(const std::vector<hgemm::LibraryTimes>& more) {
  for (const hgemm::LibraryTimes& one : more) {
    for (hgemm::LibraryTimes& shape : table_.shapes) {
      if (shape.shape != one.shape) continue;
      std::copy(one.times.begin(), one.times.end(), std::back_inserter(shape.times));
    }
  }
  return WriteTable();
}

}  // namespace warpsmith::cli
