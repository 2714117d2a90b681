// A file that is only appended to, each piece wholly or not at all as long as the writer lives. A
// writer that is killed inside a piece leaves it torn: readers of the format say where the whole
// part ends, and the next writer cuts the rest off.
#ifndef WARPSMITH_BASE_APPEND_FILE_H_
#define WARPSMITH_BASE_APPEND_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace warpsmith {

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

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_APPEND_FILE_H_
