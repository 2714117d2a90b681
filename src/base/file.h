// Files: whole reads, writes that are there wholly or not at all, and temporary folders.
#ifndef WARPSMITH_BASE_FILE_H_
#define WARPSMITH_BASE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith {

Result<std::string> ReadFile(const std::filesystem::path& path);

// Writes beside the target, fsyncs, renames into place. A full disk leaves the old file untouched.
Status WriteFileAtomic(const std::filesystem::path& path, std::string_view contents);

Status CreateDirectories(const std::filesystem::path& path);

// A folder of its own under $TMPDIR, removed with everything in it on destruction.
class TemporaryDirectory {
 public:
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

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_FILE_H_
