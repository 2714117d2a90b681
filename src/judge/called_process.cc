#include "judge/called_process.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/frame.h"
#include "cuda/failure.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kRunnerPatience{60};
constexpr std::chrono::seconds kForeignerPatience{120};  // importing torch takes tens of seconds
constexpr size_t kMostWords = 2000;  // of what a hostile process says about itself

std::string Shortened(std::string text) {
  if (text.size() > kMostWords) text = text.substr(0, kMostWords) + "...";
  return text;
}

// Refused calls that leave a context as it was. After any other code it may be lost for good.
bool LeavesContextUsable(const Error& error) {
  static constexpr std::string_view kHarmless[] = {"CUDA_ERROR_INVALID_VALUE",
                                                   "CUDA_ERROR_OUT_OF_MEMORY",
                                                   "CUDA_ERROR_INVALID_IMAGE",
                                                   "CUDA_ERROR_NO_BINARY_FOR_GPU",
                                                   "CUDA_ERROR_NOT_FOUND",
                                                   "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
                                                   "CUDA_ERROR_INVALID_CLUSTER_SIZE",
                                                   "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"};
  const auto failure = cuda::FailureFrom(error);
  return !failure || std::find(std::begin(kHarmless), std::end(kHarmless), failure->code) !=
                         std::end(kHarmless);
}

struct OutcomeOfResult {
  std::string_view step;
  HostCode host_code;

  Outcome operator()(const Reply&) const {
    return Inconclusive{fmt::format("{}: a reply is no failure", step)};
  }
  Outcome operator()(const Error& error) const {
    const bool is_foreign = host_code == HostCode::kForeign;
    if (const auto failure = cuda::FailureFrom(error)) {
      std::string detail = fmt::format("{}: {}: {}", step, failure->words, failure->detail);
      if (is_foreign) detail = Shortened(std::move(detail));
      return RunFailed{failure->call, failure->code, std::move(detail)};
    }
    if (is_foreign) return RunFailed{std::string(step), "PROGRAM_FAILED", Shortened(error.message)};
    // Of our runner, bad input is the candidate's plan: tasks and baselines were checked before.
    if (error.code == ErrorCode::kBadInput) return Rejected{"plan", error.message};
    return Inconclusive{fmt::format("{}: {}", step, error.Line())};
  }
  Outcome operator()(const CallTimedOut& late) const {
    return TimedOut{std::string(step), late.limit.count()};
  }
  Outcome operator()(const CallDied& died) const {
    return RunFailed{std::string(step), "RUNNER_DIED", Shortened(died.what)};
  }
};

struct WordsOfResult {
  std::string operator()(const Reply&) const { return "a reply is no failure"; }
  std::string operator()(const Error& error) const { return error.message; }
  std::string operator()(const CallTimedOut& late) const {
    return fmt::format("no answer in {} ms", late.limit.count());
  }
  std::string operator()(const CallDied& died) const { return "the process died: " + died.what; }
};

}  // namespace

Error ErrorOfCall(const CallResult& call, std::string_view step) {
  const auto* error = std::get_if<Error>(&call);
  return {error != nullptr ? error->code : ErrorCode::kInternal,
          fmt::format("{}: {}", step, std::visit(WordsOfResult{}, call)),
          error != nullptr ? error->fix : ""};
}

Outcome CalledProcess::OutcomeOf(const CallResult& call, std::string_view step) const {
  return std::visit(OutcomeOfResult{step, host_code_}, call);
}

Result<std::unique_ptr<CalledProcess>> CalledProcess::Spawn(const ProcessOptions& options) {
  ProcessLimits limits;
  limits.discard_output = options.host_code == HostCode::kForeign;
  ChildProcess child = TRY(ChildProcess::Start(options.argv, limits));
  return std::unique_ptr<CalledProcess>(new CalledProcess(std::move(child), options.host_code));
}

Result<std::unique_ptr<CalledProcess>> CalledProcess::Start(const ProcessOptions& options) {
  auto process = TRY(Spawn(options));
  TRY(process->Begin(options.start, options.start_payload));
  return process;
}

Status CalledProcess::Begin(const StartCommand& start, std::string_view payload) {
  if (const auto failed = Send(start, payload, {})) {
    return ErrorOfCall(*failed, "starting a process for the judge");
  }
  return {};
}

Status CalledProcess::AwaitReady(std::chrono::milliseconds patience) {
  if (ready_) return {};
  const CallResult started = Receive(patience);
  const auto* reply = std::get_if<Reply>(&started);
  if (reply == nullptr) return ErrorOfCall(started, "starting a process for the judge");
  started_ = *reply;
  ready_ = true;
  return {};
}

CallResult CalledProcess::Call(const Command& command, std::chrono::milliseconds limit,
                               std::string_view payload, const std::vector<int>& descriptors) {
  if (auto failed = Send(command, payload, descriptors)) return *std::move(failed);
  return Receive(limit);
}

std::optional<CallResult> CalledProcess::Send(const Command& command, std::string_view payload,
                                              const std::vector<int>& descriptors) {
  if (!alive_) return CallDied{"it was already dead"};
  const bool starting = std::holds_alternative<StartCommand>(command);
  const auto patience = host_code_ == HostCode::kOurs ? kRunnerPatience : kForeignerPatience;
  if (const Status ready = starting ? Status{} : AwaitReady(patience); !ready.ok()) {
    return Died(ready.error().message);
  }
  const Status sent = SendFrame(child_.socket(), CommandToText(command), payload, descriptors);
  if (!sent.ok()) return Died(sent.error().message);
  return std::nullopt;
}

CallResult CalledProcess::Receive(std::chrono::milliseconds limit) {
  if (!alive_) return CallDied{"it was already dead"};
  Result<Frame> frame = ReceiveFrame(child_.socket(), limit);
  if (!frame.ok()) {
    if (frame.error().code != ErrorCode::kTimeout) return Died(frame.error().message);
    // It might still answer, and a late reply would be taken for the answer to the next call.
    Kill();
    return CallTimedOut{limit};
  }
  // The judge takes no descriptors from the processes that it calls.
  CloseAll(frame->descriptors);
  Result<ReplyOrError> reply = ReplyFromText(frame->header);
  if (!reply.ok()) return Died(reply.error().message);
  if (auto* error = std::get_if<Error>(&*reply)) {
    // Foreign code can call anything a failure, so it does not decide which failures are harmless:
    // after any CUDA error its process is not used again.
    const bool is_usable =
        host_code_ == HostCode::kOurs ? LeavesContextUsable(*error) : !cuda::FailureFrom(*error);
    if (!is_usable) Kill();
    return std::move(*error);
  }
  return std::move(std::get<Reply>(*reply));
}

CallResult CalledProcess::Died(std::string what) {
  Kill();
  return CallDied{std::move(what)};
}

std::optional<CallResult> CalledProcess::SendBurst(const BurstCommand& burst,
                                                   const BurstPage& page) {
  return Send(burst, {}, {page.descriptor()});
}

std::optional<CallResult> CalledProcess::AwaitCall(BurstPage& page, uint32_t call,
                                                   std::chrono::milliseconds limit) {
  constexpr int64_t kNsPerMs = 1'000'000;
  const int64_t deadline_ns = MonotonicNs() + limit.count() * kNsPerMs;
  SpinWait waiting;
  while (true) {
    // The page is the process's to write. Only two values are believed: this call has ended, or it
    // has not. Anything else means that it runs ahead of what was released.
    const uint32_t done = page.done();
    if (done == call + 1) return std::nullopt;
    if (done != call) return Died("it announced a call that it was not given");
    waiting.Turn();
    if (!waiting.ShouldCheckPeer()) continue;
    if (HasMessage() && page.done() == call) {
      // It has given up, and its message says why.
      CallResult said = Receive(limit);
      if (!std::holds_alternative<Reply>(said)) return said;
      return Died("it ended a burst before its last call");
    }
    if (MonotonicNs() < deadline_ns) continue;
    Kill();
    return CallTimedOut{limit};
  }
}

bool CalledProcess::HasMessage() const {
  pollfd waited{child_.socket(), POLLIN, 0};
  return poll(&waited, 1, 0) > 0;
}

// The whole group (the negative number): a program may have started processes of its own.
void CalledProcess::Pause() {
  if (alive_) kill(-child_.pid(), SIGSTOP);
}

void CalledProcess::Resume() {
  if (alive_) kill(-child_.pid(), SIGCONT);
}

void CalledProcess::Kill() {
  alive_ = false;
  child_.Kill();
}

Status RunnerPool::Prepare(size_t count) {
  while (waiting_.size() < count) waiting_.push_back(TRY(CalledProcess::Start(options_)));
  return {};
}

Status RunnerPool::Settle() {
  for (auto runner = waiting_.begin(); runner != waiting_.end(); ++runner) {
    const Status ready = (*runner)->AwaitReady(kRunnerPatience);
    if (ready.ok()) continue;
    waiting_.erase(runner);
    return ready;
  }
  return {};
}

Result<std::unique_ptr<CalledProcess>> RunnerPool::Take() {
  TRY(Prepare(1));
  TRY(Settle());
  return Next();
}

Result<std::unique_ptr<CalledProcess>> RunnerPool::Next() {
  TRY(Prepare(1));
  std::unique_ptr<CalledProcess> runner = std::move(waiting_.front());
  waiting_.pop_front();
  return runner;
}

}  // namespace warpsmith::judge
