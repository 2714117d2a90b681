// Files: whole reads, writes that are there wholly or not at all, and temporary folders.
#ifndef WARPSMITH_BASE_FILE_H_
#define WARPSMITH_BASE_FILE_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace warpsmith {

// The whole file or pipe, at most 4 GiB. kNoInput: not there, a folder, or not ours to read; kIo:
// reading failed.
Result<std::string> ReadFile(const std::filesystem::path& path);

// Writes beside the target, fsyncs, renames into place. A full disk leaves the old file untouched.
Status WriteFileAtomic(const std::filesystem::path& path, std::string_view contents);

// Where a cache in `root` keeps the entry of a SHA-256 key: <root>/<2 hex>/<62 hex>.
std::filesystem::path EntryPath(const std::filesystem::path& root, const std::string& key);

// With all folders above it; one that is there already is no error. kIo.
Status CreateDirectories(const std::filesystem::path& path);

// A folder of its own under $TMPDIR, removed with everything in it on destruction.
class TemporaryDirectory {
 public:
  // Named `prefix` and six characters that make it unique. kIo.
  static Result<TemporaryDirectory> Create(std::string_view prefix);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// XDG folders: $XDG_DATA_HOME/warpsmith, $XDG_CACHE_HOME/warpsmith, $XDG_STATE_HOME/warpsmith.
std::filesystem::path DataHome();
std::filesystem::path CacheHome();
std::filesystem::path StateHome();

// The running program's own path, and a shipped data file found beside it (installed layout) or in
// the source tree (build layout).
std::filesystem::path ThisExecutable();
Result<std::filesystem::path> FindShippedFile(std::string_view relative_path);

// Removes `root` and all below it, which an untrusted process may have built, however deep folders
// are nested (std::filesystem::remove_all needs a descriptor a level) and whatever their modes.
// Links are removed, not followed. Nobody may be writing there. What another user owns stays.
void RemoveTree(const std::filesystem::path& root);

// A file that is only appended to, each piece wholly or not at all as long as the writer lives. A
// writer that is killed inside a piece leaves it torn: readers of the format say where the whole
// part ends, and the next writer cuts the rest off.
// One writer at a time: the caller holds a lock.
class AppendFile {
 public:
  // Made if it is missing. Cut to its first `whole_bytes`, of which a longer file has more and a
  // shorter one is refused.
  static Result<AppendFile> Open(const std::filesystem::path& path, int64_t whole_bytes);
  AppendFile(AppendFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        bytes_(other.bytes_) {}
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  const std::filesystem::path& path() const { return path_; }
  int64_t bytes() const { return bytes_; }

  Status Append(std::string_view piece);  // a full disk leaves nothing of it behind
  Status Sync();                          // what was appended survives a power cut

 private:
  AppendFile(std::filesystem::path path, int descriptor, int64_t bytes)
      : path_(std::move(path)), descriptor_(descriptor), bytes_(bytes) {}

  std::filesystem::path path_;
  int descriptor_;
  int64_t bytes_;  // of whole pieces
};

// A patience: what is not free at once is somebody else's.
inline constexpr std::chrono::milliseconds kNoPatience{0};

// An advisory lock on a file (flock), freed by the kernel when the holder dies.
class FileLock {
 public:
  // kBusy, naming the holder's process id, when it is not free within `patience`.
  static Result<FileLock> Acquire(const std::filesystem::path& path, std::string_view what,
                                  std::chrono::milliseconds patience);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_FILE_H_
