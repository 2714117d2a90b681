// An advisory lock on a file (flock), freed by the kernel when the holder dies.
#ifndef WARPSMITH_BASE_FILE_LOCK_H_
#define WARPSMITH_BASE_FILE_LOCK_H_

#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace warpsmith {

// A patience: what is not free at once is somebody else's.
inline constexpr std::chrono::milliseconds kNoPatience{0};

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

#endif  // WARPSMITH_BASE_FILE_LOCK_H_
