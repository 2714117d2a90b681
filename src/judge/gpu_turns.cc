#include "judge/gpu_turns.h"

#include <utility>

#include "util/clock.h"

namespace warpsmith::judge {

GpuTurns::Turn::~Turn() {
  if (turns_ != nullptr) turns_->Leave();
}

GpuTurns::GpuTurns(std::filesystem::path lock_file, std::string what,
                   std::chrono::milliseconds patience)
    : lock_file_(std::move(lock_file)), what_(std::move(what)), patience_(patience) {}

Result<GpuTurns::Turn> GpuTurns::Take() {
  const std::lock_guard guard(mutex_);
  if (!lock_) {
    lock_.emplace(TRY(FileLock::Acquire(lock_file_, what_, patience_)));
    locked_at_ = MonotonicSeconds();
  }
  ++holders_;
  return Turn(this);
}

void GpuTurns::Leave() {
  const std::lock_guard guard(mutex_);
  if (--holders_ > 0 || patience_.count() == 0) return;
  held_before_ += MonotonicSeconds() - locked_at_;
  lock_.reset();
}

double GpuTurns::held_seconds() const {
  const std::lock_guard guard(mutex_);
  return held_before_ + (lock_ ? MonotonicSeconds() - locked_at_ : 0);
}

}  // namespace warpsmith::judge
