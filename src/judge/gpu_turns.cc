#include "judge/gpu_turns.h"

#include <utility>

#include "util/clock.h"
#include "util/interrupt.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::milliseconds kLookForCtrlC{100};

}  // namespace

GpuTurns::Turn::~Turn() {
  if (turns_ != nullptr) turns_->Leave();
}

GpuTurns::GpuTurns(std::filesystem::path lock_file, std::string what,
                   std::chrono::milliseconds patience)
    : lock_file_(std::move(lock_file)), what_(std::move(what)), patience_(patience) {}

Result<GpuTurns::Turn> GpuTurns::Take() {
  TRY(AwaitThreads());
  Turn turn(this);  // gives up where the lock is not had
  if (lock_) return turn;
  FileLock lock = TRY(FileLock::Acquire(lock_file_, what_, patience_));
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

void GpuTurns::Leave() {
  const std::lock_guard guard(mutex_);
  if (lock_ && patience_.count() > 0) {
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
