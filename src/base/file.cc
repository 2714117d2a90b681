#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/build_info.h"
#include "base/remove_tree.h"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxReadBytes = size_t{4} << 30;
constexpr size_t kReadChunkBytes = size_t{1} << 20;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Error ReadError(const fs::path& path, int reason) {
  const bool named_wrongly =
      reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == EACCES;
  return Error{named_wrongly ? ErrorCode::kNoInput : ErrorCode::kIo,
               "reading " + path.string() + ": " + std::strerror(reason), ""};
}

Error WriteError(const fs::path& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return Error{ErrorCode::kIo, "writing " + path.string() + ": " + std::strerror(reason),
               full ? "free some space; what was there before is untouched" : ""};
}

// 0, or the errno of the write or fsync that failed. Devices and pipes cannot be synced: no matter.
int WriteAll(int descriptor, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    contents.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) return errno;
  return 0;
}

Status WriteInPlace(const fs::path& path, std::string_view contents) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) return WriteError(path, errno);
  const int failed = WriteAll(file.number(), contents);
  if (failed != 0) return WriteError(path, failed);
  return {};
}

// Beside `path`, so that the rename stays within one file system; unique among all writers.
fs::path AsideName(const fs::path& path) {
  static std::atomic<uint64_t> counter{0};
  return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(getpid()) +
                               "." + std::to_string(counter++) + ".tmp");
}

void SyncFolder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.number() >= 0) fsync(descriptor.number());
}

fs::path XdgFolder(const char* variable, const char* below_home) {
  const char* set = std::getenv(variable);
  if (set != nullptr && set[0] == '/') return fs::path(set) / "warpsmith";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / below_home / "warpsmith";
  std::error_code ignored;
  return fs::temp_directory_path(ignored) / ("warpsmith-" + std::to_string(getuid())) / below_home;
}

}  // namespace

Result<std::string> ReadFile(const fs::path& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return ReadError(path, errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return ReadError(path, errno);
  // A device may have no end; files and pipes that the user named are read.
  const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);  // /dev/null
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !is_null)) {
    return Error{ErrorCode::kBadInput, "reading " + path.string() + ": it is a device", ""};
  }
  std::string contents;
  if (S_ISREG(status.st_mode) && static_cast<size_t>(status.st_size) <= kMaxReadBytes) {
    contents.reserve(static_cast<size_t>(status.st_size) + 1);
  }
  size_t size = 0;
  while (true) {
    contents.resize(std::max(size + 1, std::min(contents.capacity(), size + kReadChunkBytes)));
    const ssize_t got = read(file.number(), contents.data() + size, contents.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadError(path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size > kMaxReadBytes) {
      return Error{ErrorCode::kBadInput, "reading " + path.string() + ": more than 4 GiB", ""};
    }
  }
  contents.resize(size);
  return contents;
}

Status WriteFileAtomic(const fs::path& path, std::string_view contents) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return WriteInPlace(path, contents);  // /dev/stdout, a pipe: must not be replaced by a file
  }
  const fs::path aside = AsideName(path);
  int failed = 0;
  {
    const Descriptor file(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.number() < 0) return WriteError(path, errno);
    failed = WriteAll(file.number(), contents);
  }
  if (failed == 0 && rename(aside.c_str(), path.c_str()) != 0) failed = errno;
  if (failed != 0) {
    unlink(aside.c_str());
    return WriteError(path, failed);
  }
  SyncFolder(path);
  return {};
}

Status CreateDirectories(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (!failed) return {};
  return Error{ErrorCode::kIo, "making the folder " + path.string() + ": " + failed.message(), ""};
}

Result<TemporaryDirectory> TemporaryDirectory::Create(std::string_view prefix) {
  std::error_code failed;
  const fs::path base = fs::temp_directory_path(failed);
  std::string path = ((failed ? fs::path("/tmp") : base) / prefix).string() + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Error{ErrorCode::kIo, "making a temporary folder " + path + ": " + std::strerror(errno),
                 "set TMPDIR to a writable folder"};
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) RemoveTree(path_);
}

fs::path DataHome() { return XdgFolder("XDG_DATA_HOME", ".local/share"); }
fs::path CacheHome() { return XdgFolder("XDG_CACHE_HOME", ".cache"); }
fs::path StateHome() { return XdgFolder("XDG_STATE_HOME", ".local/state"); }

fs::path ThisExecutable() {
  std::error_code failed;
  fs::path path = fs::read_symlink("/proc/self/exe", failed);
  CHECK(!failed);
  return path;
}

Result<fs::path> FindShippedFile(std::string_view relative_path) {
  const fs::path installed =
      (ThisExecutable().parent_path() / "../share/warpsmith" / relative_path).lexically_normal();
  const fs::path in_sources = fs::path(build_info::SourceRoot()) / relative_path;
  std::error_code ignored;
  for (const fs::path& path : {installed, in_sources}) {
    if (fs::exists(path, ignored)) return path;
  }
  return Error{ErrorCode::kNoInput,
               "looking for the shipped file " + std::string(relative_path) + ": neither " +
                   installed.string() + " nor " + in_sources.string() + " exists",
               "install warpsmith again, or run it from its checkout"};
}

}  // namespace warpsmith
