#include "base/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/spawn.h"

namespace warpsmith {
namespace {

constexpr size_t kReadBytes = 64 << 10;

Error NotAFile(const std::filesystem::path& path) {
  return {ErrorCode::kBadInput, "reading " + path.string() + ": no regular file", ""};
}

Error Failed(const std::filesystem::path& path, int reason) {
  const bool is_link = reason == ELOOP, is_absent = reason == ENOENT;
  if (is_link || reason == ENXIO) return NotAFile(path);  // ENXIO: a socket
  return {is_absent ? ErrorCode::kNoInput : ErrorCode::kIo,
          "reading " + path.string() + ": " + std::strerror(reason), ""};
}

}  // namespace

Result<std::string> ReadForeignFile(const std::filesystem::path& path, size_t most_bytes) {
  // Without O_NONBLOCK a pipe would be waited for until somebody writes to it.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.number() < 0) return Failed(path, errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return Failed(path, errno);
  if (!S_ISREG(status.st_mode)) return NotAFile(path);
  std::string contents;
  while (contents.size() < most_bytes) {
    const size_t size = contents.size(), wanted = std::min(kReadBytes, most_bytes - size);
    contents.resize(size + wanted);
    const ssize_t got = read(file.number(), contents.data() + size, wanted);
    contents.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path, errno);
    if (got == 0) break;
  }
  return contents;
}

}  // namespace warpsmith
