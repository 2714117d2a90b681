#include "base/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/spawn.h"

namespace warpsmith {
namespace {

constexpr size_t kReadBytes = 64 << 10;

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // else a pipe would be waited for

Error NotAFile(const std::filesystem::path& path) {
  return {ErrorCode::kBadInput, "reading " + path.string() + ": no regular file", ""};
}

Error Failed(const std::filesystem::path& path, int reason) {
  const bool is_link = reason == ELOOP, is_absent = reason == ENOENT;
  if (is_link || reason == ENXIO) return NotAFile(path);  // ENXIO: a socket
  return {is_absent ? ErrorCode::kNoInput : ErrorCode::kIo,
          "reading " + path.string() + ": " + std::strerror(reason), ""};
}

// The first `most_bytes` of the descriptor's file.
Result<std::string> ReadOpened(const FileDescriptor& file, const std::filesystem::path& path,
                               size_t most_bytes) {
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

Result<std::string> ReadWhole(const FileDescriptor& file, const std::filesystem::path& path,
                              size_t most_bytes) {
  std::string contents = TRY(ReadOpened(file, path, most_bytes + 1));
  if (contents.size() <= most_bytes) return contents;
  return Error{ErrorCode::kBadInput,
               "reading " + path.string() + ": more than " + std::to_string(most_bytes) + " bytes",
               ""};
}

}  // namespace

bool StaysInside(const std::filesystem::path& name) {
  return !name.empty() && !name.is_absolute() && std::ranges::find(name, "..") == name.end();
}

Result<std::string> ReadForeignFile(const std::filesystem::path& path, size_t most_bytes) {
  return ReadOpened(FileDescriptor(open(path.c_str(), kFlags | O_NOFOLLOW)), path, most_bytes);
}

Result<std::string> ReadRegularFile(const std::filesystem::path& path, size_t most_bytes) {
  const FileDescriptor file(open(path.c_str(), kFlags));
  if (file.number() < 0 && (errno == EACCES || errno == ENOTDIR)) {
    return Error{ErrorCode::kNoInput, "reading " + path.string() + ": " + std::strerror(errno), ""};
  }
  struct stat status {};
  if (file.number() >= 0 && fstat(file.number(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::kNoInput, "reading " + path.string() + ": it is a folder", ""};
  }
  return ReadWhole(file, path, most_bytes);
}

Result<std::string> ReadFileInside(const std::filesystem::path& folder,
                                   const std::filesystem::path& name, size_t most_bytes) {
  const std::filesystem::path path = folder / name;
  const std::string shown = folder.empty() ? "." : folder.string();
  std::deque<FileDescriptor> steps;
  steps.emplace_back(open(shown.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (steps.back().number() < 0) return Failed(folder, errno);
  bool is_inside = name.is_relative() && name.has_filename();
  for (const auto& part : name) is_inside = is_inside && part != "..";
  if (!is_inside) {
    return Error{ErrorCode::kBadInput,
                 "'" + name.string() + "' is no path inside " + folder.string(), ""};
  }
  // Step by step, since O_NOFOLLOW looks at a path's last part alone.
  for (const auto& part : name.parent_path()) {
    constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    steps.emplace_back(openat(steps.back().number(), part.c_str(), kFolderFlags));
    if (steps.back().number() < 0) return errno == ENOTDIR ? NotAFile(path) : Failed(path, errno);
  }
  return ReadWhole(
      FileDescriptor(openat(steps.back().number(), name.filename().c_str(), kFlags | O_NOFOLLOW)),
      path, most_bytes);
}

}  // namespace warpsmith
