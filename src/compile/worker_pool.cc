#include "compile/worker_pool.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/frame.h"
#include "base/interrupt.h"

namespace warpsmith::compile {
namespace {

constexpr int kInterruptTickMs = 100;
constexpr int64_t kNsPerMs = 1'000'000;
// A worker that has begun to answer needs no more than this for the rest.
constexpr std::chrono::seconds kReplyPatience{10};

// No compiler writes a file here, so a flag that names one (a trace, a dependency list) fails.
constexpr int64_t kNoFiles = 1;

Compiled TimedOut(std::chrono::milliseconds wall) {
  Compiled compiled;
  compiled.failure = "no result within " + std::to_string(wall.count()) + " ms";
  compiled.timed_out = true;
  compiled.repeatable = false;
  return compiled;
}

Compiled Died(int64_t memory_bytes) {
  Compiled compiled;
  compiled.failure = "the compiler died, most likely at the memory limit of " +
                     std::to_string(memory_bytes >> 20) + " MiB";
  compiled.repeatable = false;
  return compiled;
}

ProcessLimits WorkerLimits([[maybe_unused]] const Limits& limits) {
  ProcessLimits process;
#ifndef __SANITIZE_ADDRESS__  // whose shadow memory takes terabytes of addresses
  process.address_space_bytes = limits.memory_bytes;
#endif
  process.file_bytes = kNoFiles;
  return process;
}

enum class Wait : uint8_t { kReady, kTimeout, kInterrupted };

Wait WaitReadable(int socket, std::chrono::milliseconds limit) {
  const int64_t deadline_ns = MonotonicNs() + limit.count() * kNsPerMs;
  while (true) {
    if (Interrupted()) return Wait::kInterrupted;
    const int64_t left_ms = (deadline_ns - MonotonicNs()) / kNsPerMs;
    pollfd watched{socket, POLLIN, 0};
    const int tick_ms = static_cast<int>(std::clamp<int64_t>(left_ms, 0, kInterruptTickMs));
    if (poll(&watched, 1, tick_ms) > 0) return Wait::kReady;
    if (left_ms <= 0) return Wait::kTimeout;
  }
}

}  // namespace

WorkerPool::WorkerPool(int workers, std::vector<std::string> command, Limits limits)
    : command_(std::move(command)), limits_(limits), free_places_(std::max(workers, 1)) {}

WorkerPool::Place::Place(WorkerPool* pool) : pool_(pool) {
  std::unique_lock lock(pool_->mutex_);
  pool_->place_is_free_.wait(lock, [&] { return pool_->free_places_ > 0; });
  --pool_->free_places_;
  if (pool_->idle_.empty()) return;
  worker.emplace(std::move(pool_->idle_.back()));
  pool_->idle_.pop_back();
}

WorkerPool::Place::~Place() {
  {
    const std::lock_guard lock(pool_->mutex_);
    ++pool_->free_places_;
    if (worker) pool_->idle_.push_back(std::move(*worker));
  }
  pool_->place_is_free_.notify_one();
}

Status WorkerPool::StartWorker(Place* place) const {
  if (place->worker && place->worker->Running()) return {};
  place->worker.reset();
  place->worker.emplace(TRY(ChildProcess::Start(command_, WorkerLimits(limits_))));
  return {};
}

Result<Compiled> WorkerPool::CompileWithNvrtc(const Compilation& compilation) {
  Place place(this);
  TRY(StartWorker(&place));
  const Status sent =
      SendFrame(place.worker->socket(), R"({"compile":1})", PackCompilation(compilation, limits_));
  auto compiled = sent.ok() ? Await(&place) : Result<Compiled>(Died(limits_.memory_bytes));
  // Whatever kept it from answering, it is not used again.
  if (!compiled.ok() || !compiled->repeatable) place.worker.reset();
  return compiled;
}

Result<Compiled> WorkerPool::Await(Place* place) const {
  const int socket = place->worker->socket();
  switch (WaitReadable(socket, limits_.wall)) {
    case Wait::kReady:
      break;
    case Wait::kTimeout:
      return TimedOut(limits_.wall);
    case Wait::kInterrupted:
      return Error{ErrorCode::kInterrupted, "stopped while compiling", ""};
  }
  const auto reply = ReceiveFrame(socket, kReplyPatience);
  if (!reply.ok()) return Died(limits_.memory_bytes);
  if (reply->header == R"({"compiled":1})") return UnpackCompiled(reply->payload);
  return Error{ErrorCode::kUnavailable, "compile worker: " + reply->payload, ""};
}

Result<Compiled> WorkerPool::CompileInPlace(const std::function<Result<Compiled>()>& compile) {
  const Place place(this);
  return compile();
}

}  // namespace warpsmith::compile
