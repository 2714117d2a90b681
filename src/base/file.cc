#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "base/clock.h"
#include "base/interrupt.h"

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

std::filesystem::path EntryPath(const std::filesystem::path& root, const std::string& key) {
  return root / key.substr(0, 2) / key.substr(2);
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

namespace {

bool IsFolder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(fs::symlink_status(path, failed));
}

// What is in a folder, made readable first: its maker may have taken that away.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  chmod(folder.c_str(), 0700);
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    entries.push_back(at->path());
  }
  return entries;
}

// A name in `root` that is not taken.
fs::path FreeName(const fs::path& root, int64_t* number) {
  fs::path name;
  std::error_code failed;
  do {
    name = root / (".moved-" + std::to_string((*number)++));
  } while (fs::exists(fs::symlink_status(name, failed)));
  return name;
}

// Removes the folder and its files, and moves the folders in it up into `root`: however deep a tree
// is, no path becomes longer than two names below that. True if a folder could be moved.
bool Flatten(const fs::path& folder, const fs::path& root, int64_t* number) {
  bool moved = false;
  std::error_code failed;
  for (const fs::path& entry : EntriesOf(folder)) {
    if (!IsFolder(entry)) {
      fs::remove(entry, failed);
      continue;
    }
    chmod(entry.c_str(), 0700);  // a folder that moves is written to
    fs::rename(entry, FreeName(root, number), failed);
    moved |= !failed;
  }
  fs::remove(folder, failed);
  return moved;
}

}  // namespace

void RemoveTree(const fs::path& root) {
  std::error_code failed;
  fs::remove_all(root, failed);
  if (!failed || !IsFolder(root)) return;
  int64_t number = 0;
  for (bool moved = true; moved;) {
    moved = false;  // in the end all is gone, or what is left cannot be moved
    for (const fs::path& entry : EntriesOf(root)) {
      if (IsFolder(entry)) {
        moved |= Flatten(entry, root, &number);
      } else {
        fs::remove(entry, failed);
      }
    }
  }
  fs::remove(root, failed);
}

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

namespace {

constexpr std::chrono::milliseconds kRetryEvery{20};
constexpr size_t kHolderBytes = 24;

std::string HolderOf(int descriptor) {
  std::array<char, kHolderBytes + 1> digits{};
  const ssize_t size = pread(descriptor, digits.data(), digits.size() - 1, 0);
  const std::string text(digits.data(), size > 0 ? static_cast<size_t>(size) : 0);
  const std::string pid = text.substr(0, text.find_first_not_of("0123456789"));
  return pid.empty() ? "another process" : "process " + pid;
}

// For the next one's error text only, so a failure is no matter.
void NameHolder(int descriptor) {
  std::string pid = std::to_string(getpid()) + "\n";
  pid.resize(kHolderBytes, ' ');  // over the one before: emptying a file first takes milliseconds
  [[maybe_unused]] const ssize_t written = pwrite(descriptor, pid.data(), pid.size(), 0);
}

}  // namespace

Result<FileLock> FileLock::Acquire(const std::filesystem::path& path, std::string_view what,
                                   std::chrono::milliseconds patience) {
  int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  // Another user's file can still be locked, though not written to.
  if (descriptor < 0 && errno == EACCES) descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Error{ErrorCode::kIo,
                 "opening the lock file " + path.string() + ": " + std::strerror(errno),
                 "make its folder writable"};
  }
  FileLock lock(descriptor);
  const int64_t deadline_ns = MonotonicNs() + std::chrono::nanoseconds(patience).count();
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error{ErrorCode::kIo, "locking " + path.string() + ": " + std::strerror(errno), ""};
    }
    if (Interrupted()) {
      return Error{ErrorCode::kInterrupted, "stopped while waiting for " + std::string(what), ""};
    }
    if (MonotonicNs() >= deadline_ns) {
      return Error{ErrorCode::kBusy,
                   std::string(what) + " is in use by " + HolderOf(descriptor) + " (lock file " +
                       path.string() + ")",
                   "wait for it to end, or end it"};
    }
    std::this_thread::sleep_for(kRetryEvery);
  }
  NameHolder(descriptor);
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace warpsmith
