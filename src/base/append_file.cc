#include "base/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace warpsmith {
namespace {

Error Failed(std::string_view action, const std::filesystem::path& path) {
  return {ErrorCode::kIo, std::string(action) + " " + path.string() + ": " + std::strerror(errno),
          "look at free space and permissions; what was there before is unharmed"};
}

}  // namespace

Result<AppendFile> AppendFile::Open(const std::filesystem::path& path, int64_t whole_bytes) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return Failed("opening", path);
  AppendFile file(path, descriptor, whole_bytes);
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size < 0) return Failed("measuring", path);
  if (size < whole_bytes) {
    return Error{ErrorCode::kIo, path.string() + " became shorter while it was being opened",
                 "let one process write it at a time"};
  }
  if (ftruncate(descriptor, whole_bytes) != 0) return Failed("cutting a torn end off", path);
  return file;
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status AppendFile::Append(std::string_view piece) {
  size_t written = 0;
  while (written < piece.size()) {
    const ssize_t count = write(descriptor_, piece.data() + written, piece.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const Error error = Failed("appending to", path_);
      if (ftruncate(descriptor_, bytes_) != 0) return Failed("taking a torn end back from", path_);
      return error;
    }
    written += static_cast<size_t>(count);
  }
  bytes_ += static_cast<int64_t>(piece.size());
  return {};
}

Status AppendFile::Sync() {
  if (fdatasync(descriptor_) != 0) return Failed("syncing", path_);
  return {};
}

}  // namespace warpsmith
