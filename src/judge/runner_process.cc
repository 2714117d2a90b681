#include "judge/runner_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/frame.h"
#include "cuda/failure.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kStartPatience{60};

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

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

Outcome OutcomeOfError(const Error& error, std::string_view step) {
  if (const auto failure = cuda::FailureFrom(error)) {
    return RunFailed{failure->call, failure->code,
                     fmt::format("{}: {}: {}", step, failure->words, failure->detail)};
  }
  if (error.code == ErrorCode::kBadInput) return Rejected{"plan", error.message};
  return Inconclusive{fmt::format("{}: {}", step, error.Line())};
}

}  // namespace

Outcome OutcomeOfCall(const CallResult& call, std::string_view step) {
  return std::visit(Overloaded{
                        [&](const Reply&) -> Outcome {
                          return Inconclusive{fmt::format("{}: a reply is no failure", step)};
                        },
                        [&](const Error& error) { return OutcomeOfError(error, step); },
                        [&](const CallTimedOut& late) -> Outcome {
                          return TimedOut{std::string(step), late.limit.count()};
                        },
                        [&](const CallDied& died) -> Outcome {
                          return RunFailed{std::string(step), "RUNNER_DIED", died.what};
                        },
                    },
                    call);
}

Error ErrorOfCall(const CallResult& call, std::string_view step) {
  const std::string what =
      std::visit(Overloaded{
                     [](const Reply&) { return std::string("a reply is no failure"); },
                     [](const Error& error) { return error.Line(); },
                     [](const CallTimedOut& late) {
                       return fmt::format("no answer in {} ms", late.limit.count());
                     },
                     [](const CallDied& died) { return "the runner died: " + died.what; },
                 },
                 call);
  const auto* error = std::get_if<Error>(&call);
  return {error != nullptr ? error->code : ErrorCode::kInternal, fmt::format("{}: {}", step, what),
          ""};
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(const RunnerOptions& options) {
  ChildProcess child = TRY(ChildProcess::Start(options.argv, ProcessLimits{}));
  std::unique_ptr<RunnerProcess> runner(new RunnerProcess(std::move(child)));
  const std::string command = CommandToText(StartCommand{options.device_uuid});
  const Status sent = SendFrame(runner->child_.socket(), command, options.kernels);
  if (!sent.ok()) {
    return Error{
        ErrorCode::kInternal,
        fmt::format("starting a runner ({}): {}", options.argv.front(), sent.error().message), ""};
  }
  return runner;
}

Status RunnerProcess::AwaitReady(std::chrono::milliseconds patience) {
  if (ready_) return {};
  const CallResult started = Receive(patience);
  if (!std::holds_alternative<Reply>(started)) return ErrorOfCall(started, "starting a runner");
  ready_ = true;
  return {};
}

CallResult RunnerProcess::Call(const Command& command, std::chrono::milliseconds limit,
                               std::string_view payload, const std::vector<int>& descriptors) {
  if (!alive_) return CallDied{"it was already dead"};
  const Status ready = AwaitReady(kStartPatience);
  if (!ready.ok()) return CallDied{ready.error().message};
  const Status sent = SendFrame(child_.socket(), CommandToText(command), payload, descriptors);
  if (!sent.ok()) {
    Kill();
    return CallDied{sent.error().message};
  }
  return Receive(limit);
}

CallResult RunnerProcess::Receive(std::chrono::milliseconds limit) {
  const Result<Frame> frame = ReceiveFrame(child_.socket(), limit);
  if (!frame.ok()) {
    Kill();
    if (frame.error().code == ErrorCode::kTimeout) return CallTimedOut{limit};
    return CallDied{frame.error().message};
  }
  Result<ReplyOrError> reply = ReplyFromText((*frame).header);
  if (!reply.ok()) {
    Kill();
    return CallDied{reply.error().message};
  }
  if (auto* error = std::get_if<Error>(&*reply)) {
    if (!LeavesContextUsable(*error)) Kill();
    return std::move(*error);
  }
  return std::move(std::get<Reply>(*reply));
}

void RunnerProcess::Kill() {
  alive_ = false;
  child_.Kill();
}

Status RunnerPool::Prepare(size_t count) {
  while (waiting_.size() < count) waiting_.push_back(TRY(RunnerProcess::Start(options_)));
  return {};
}

Status RunnerPool::Settle() {
  for (auto runner = waiting_.begin(); runner != waiting_.end(); ++runner) {
    const Status ready = (*runner)->AwaitReady(kStartPatience);
    if (ready.ok()) continue;
    waiting_.erase(runner);
    return ready;
  }
  return {};
}

Result<std::unique_ptr<RunnerProcess>> RunnerPool::Take() {
  TRY(Prepare(1));
  TRY(Settle());
  std::unique_ptr<RunnerProcess> runner = std::move(waiting_.front());
  waiting_.pop_front();
  return runner;
}

}  // namespace warpsmith::judge
