#include "judge/gpu_turns.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::milliseconds kLookForCtrlC{100};

}  // namespace

Status CheckNoSurvivors() {
  const std::vector<pid_t> survivors = Survivors();
  if (survivors.empty()) return {};
  return Error{ErrorCode::kUnavailable,
               fmt::format("measuring: process {} was killed and does not die; it may still be "
                           "using the GPU",
                           Joined(survivors, ", ", [](pid_t pid) { return std::to_string(pid); })),
               "wait until it is gone, or reset the GPU, then start again"};
}

GpuTurns::Turn::~Turn() {
  if (turns_ != nullptr) turns_->Leave();
}

GpuTurns::GpuTurns(std::filesystem::path lock_file, std::string what,
                   std::chrono::milliseconds patience)
    : lock_file_(std::move(lock_file)), what_(std::move(what)), patience_(patience) {}

Result<GpuTurns::Turn> GpuTurns::Take() {
  TRY(AwaitThreads());
  Turn turn(this);  // gives up where the lock is not had
  TRY(CheckNoSurvivors());
  if (lock_) return turn;
  FileLock lock = TRY(AwaitProcesses());
  const std::lock_guard guard(mutex_);
  lock_.emplace(std::move(lock));
  locked_at_ = MonotonicSeconds();
  return turn;
}

Status GpuTurns::AwaitThreads() {
  std::unique_lock guard(mutex_);
  while (!left_.wait_for(guard, kLookForCtrlC, [this] { return !is_taken_; })) {
    if (Interrupted()) {
      return Error{ErrorCode::kInterrupted, "stopped while waiting for " + what_, ""};
    }
  }
  is_taken_ = true;
  return {};
}

// Who gives the lock back and asks again at once would have it again: others look for it only every
// few milliseconds. So there is a second lock, which the first to wait holds while he waits.
Result<FileLock> GpuTurns::AwaitProcesses() const {
  const int64_t begin_ns = MonotonicNs();
  const std::filesystem::path queue_file = lock_file_.string() + ".queue";
  const FileLock queue = TRY(FileLock::Acquire(queue_file, "the queue for " + what_, patience_));
  const std::chrono::nanoseconds waited(MonotonicNs() - begin_ns);
  const auto left = patience_ - std::chrono::duration_cast<std::chrono::milliseconds>(waited);
  return FileLock::Acquire(lock_file_, what_, std::max(left, std::chrono::milliseconds(0)));
}

void GpuTurns::Leave() {
  const std::lock_guard guard(mutex_);
  // While a killed process may still be on the GPU the lock stays ours: another judge that took it
  // would measure beside that process.
  if (lock_ && patience_.count() > 0 && CheckNoSurvivors().ok()) {
    held_before_ += MonotonicSeconds() - locked_at_;
    lock_.reset();
  }
  is_taken_ = false;
  left_.notify_one();
}

double GpuTurns::held_seconds() const {
  const std::lock_guard guard(mutex_);
  return held_before_ + (lock_ ? MonotonicSeconds() - locked_at_ : 0);
}

}  // namespace warpsmith::judge
