#include "library_file.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/compression.h"
#include "base/file.h"
#include "sample_frames.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLibraryLockPatience{0};

Status CheckTimes(const hgemm::LibraryTimes& shape) {
  const bool good = !shape.times.empty() &&
                    std::all_of(shape.times.begin(), shape.times.end(),
                                [](const hgemm::LibraryTime& time) { return time.us > 0; });
  if (good) return {};
  return Error{ErrorCode::kInternal, "a shape without times for a library table", ""};
}

}  // namespace

Result<LibraryFile> LibraryFile::Open(const fs::path& path, const std::string& terms,
                                      const std::string& dtype) {
  LibraryFile file;
  file.table_.terms = terms;
  file.table_.dtype = dtype;
  if (path.empty()) return file;
  file.path_ = path;
  file.lock_.emplace(
      TRY(FileLock::Acquire(path.string() + ".lock", path.string(), kLibraryLockPatience)));
  TRY(file.GoOn());
  std::vector<Sizes> shapes;
  for (const hgemm::LibraryTimes& shape : file.table_.shapes) shapes.push_back(shape.shape);
  file.samples_.emplace(TRY(OpenSamples(SamplesPath(path), shapes)));
  return file;
}

Status LibraryFile::GoOn() {
  std::error_code unknown;
  if (!fs::exists(path_, unknown) && !unknown) return {};
  hgemm::LibraryTable there = TRY(hgemm::ParseLibraryTable(path_.string(), TRY(ReadFile(path_))));
  if (there.terms != table_.terms) {
    return Error{ErrorCode::kBadInput,
                 path_.string() + " is of other terms: " + there.terms + "; now: " + table_.terms,
                 "give --csv another name"};
  }
  table_.sessions = std::move(there.sessions);
  table_.shapes = std::move(there.shapes);
  table_.faster = std::move(there.faster);
  return {};
}

Status LibraryFile::WriteTable() const {
  return path_.empty() ? Status{} : WriteFileAtomic(path_, hgemm::ToText(table_));
}

Status LibraryFile::Append(const std::string& session, const hgemm::LibraryTimes& shape,
                           const std::string& samples,
                           const std::vector<hgemm::BesideBar>& faster) {
  TRY(CheckTimes(shape));
  if (samples_) {
    TRY(samples_->Append(Compress(samples)));
    TRY(samples_->Sync());
  }
  if (!std::exchange(begun_, true)) table_.sessions.push_back(session);
  table_.shapes.push_back(shape);
  for (const hgemm::BesideBar& one : faster) table_.faster.push_back({shape.shape, one});
  return WriteTable();
}

Status LibraryFile::Add(const hgemm::LibraryTimes& more) {
  TRY(CheckTimes(more));
  for (hgemm::LibraryTimes& shape : table_.shapes) {
    if (shape.shape != more.shape) continue;
    std::copy(more.times.begin(), more.times.end(), std::back_inserter(shape.times));
  }
  return WriteTable();
}

}  // namespace warpsmith::cli
