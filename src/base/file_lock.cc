#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"

namespace warpsmith {
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
