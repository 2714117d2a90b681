#include "judge/peer_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/frame.h"
#include "cuda/failure.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kPeerStartPatience{120};  // importing torch takes tens of seconds
constexpr size_t kMostWords = 2000;  // of what a hostile process says about itself

std::string Shortened(std::string text) {
  if (text.size() > kMostWords) text = text.substr(0, kMostWords) + "...";
  return text;
}

struct OutcomeOf {
  std::string_view step;

  Outcome operator()(const PeerReply&) const {
    return Inconclusive{fmt::format("{}: a reply is no failure", step)};
  }
  Outcome operator()(const Error& error) const {
    if (const auto failure = cuda::FailureFrom(error)) {
      return RunFailed{failure->call, failure->code,
                       Shortened(fmt::format("{}: {}: {}", step, failure->words, failure->detail))};
    }
    return RunFailed{std::string(step), "PROGRAM_FAILED", Shortened(error.message)};
  }
  Outcome operator()(const CallTimedOut& late) const {
    return TimedOut{std::string(step), late.limit.count()};
  }
  Outcome operator()(const CallDied& died) const {
    return RunFailed{std::string(step), "RUNNER_DIED", Shortened(died.what)};
  }
};

struct WordsOf {
  std::string operator()(const PeerReply&) const { return "a reply is no failure"; }
  std::string operator()(const Error& error) const { return error.message; }
  std::string operator()(const CallTimedOut& late) const {
    return fmt::format("no answer in {} ms", late.limit.count());
  }
  std::string operator()(const CallDied& died) const { return "the process died: " + died.what; }
};

}  // namespace

Outcome OutcomeOfPeer(const PeerCallResult& call, std::string_view step) {
  return std::visit(OutcomeOf{step}, call);
}

Error ErrorOfPeer(const PeerCallResult& call, std::string_view step) {
  const auto* error = std::get_if<Error>(&call);
  return {error != nullptr ? error->code : ErrorCode::kInternal,
          fmt::format("{}: {}", step, std::visit(WordsOf{}, call)),
          error != nullptr ? error->fix : ""};
}

Result<std::unique_ptr<PeerProcess>> PeerProcess::Spawn(const PeerOptions& options) {
  ProcessLimits limits;
  limits.discard_output = true;
  ChildProcess child = TRY(ChildProcess::Start(options.argv, limits, options.environment));
  return std::unique_ptr<PeerProcess>(new PeerProcess(std::move(child)));
}

Result<std::unique_ptr<PeerProcess>> PeerProcess::Start(const PeerOptions& options) {
  auto peer = TRY(Spawn(options));
  TRY(peer->Begin(options.start));
  return peer;
}

Status PeerProcess::Begin(const PeerStart& start) {
  if (const auto failed = Send(start, {}, {})) {
    return ErrorOfPeer(*failed, "starting a process for the judge");
  }
  return {};
}

Status PeerProcess::AwaitReady(std::chrono::milliseconds patience) {
  if (ready_) return {};
  const PeerCallResult started = Receive(patience);
  const auto* reply = std::get_if<PeerReply>(&started);
  if (reply == nullptr) return ErrorOfPeer(started, "starting a process for the judge");
  started_ = *reply;
  ready_ = true;
  return {};
}

PeerCallResult PeerProcess::Call(const PeerCommand& command, std::chrono::milliseconds limit,
                                 std::string_view payload, const std::vector<int>& descriptors) {
  if (auto failed = Send(command, payload, descriptors)) return *std::move(failed);
  return Receive(limit);
}

std::optional<PeerCallResult> PeerProcess::Send(const PeerCommand& command,
                                                std::string_view payload,
                                                const std::vector<int>& descriptors) {
  if (!alive_) return CallDied{"it was already dead"};
  const bool starting = std::holds_alternative<PeerStart>(command);
  if (const Status ready = starting ? Status{} : AwaitReady(kPeerStartPatience); !ready.ok()) {
    return Died(ready.error().message);
  }
  const Status sent = SendFrame(child_.socket(), PeerCommandToText(command), payload, descriptors);
  if (!sent.ok()) return Died(sent.error().message);
  return std::nullopt;
}

PeerCallResult PeerProcess::Receive(std::chrono::milliseconds limit) {
  if (!alive_) return CallDied{"it was already dead"};
  Result<Frame> frame = ReceiveFrame(child_.socket(), limit);
  if (!frame.ok()) {
    if (frame.error().code != ErrorCode::kTimeout) return Died(frame.error().message);
    Kill();
    return CallTimedOut{limit};
  }
  for (int descriptor : frame->descriptors) close(descriptor);
  Result<PeerReplyOrError> reply = PeerReplyFromText(frame->header);
  if (!reply.ok()) return Died(reply.error().message);
  if (auto* error = std::get_if<Error>(&*reply)) {
    if (cuda::FailureFrom(*error)) Kill();
    return std::move(*error);
  }
  return std::move(std::get<PeerReply>(*reply));
}

PeerCallResult PeerProcess::Died(std::string what) {
  Kill();
  return CallDied{std::move(what)};
}

std::optional<PeerCallResult> PeerProcess::SendBurst(const PeerBurst& burst,
                                                     const BurstPage& page) {
  return Send(burst, {}, {page.descriptor()});
}

std::optional<PeerCallResult> PeerProcess::RunCall(BurstPage& page, uint32_t call,
                                                   std::span<const uint32_t> slots,
                                                   std::chrono::milliseconds limit) {
  page.Release(call, slots);
  return AwaitCall(page, call, limit);
}

std::optional<PeerCallResult> PeerProcess::AwaitCall(BurstPage& page, uint32_t call,
                                                     std::chrono::milliseconds limit) {
  constexpr int64_t kNsPerMs = 1'000'000;
  const int64_t deadline_ns = MonotonicNs() + limit.count() * kNsPerMs;
  Waiting waiting;
  while (true) {
    const uint32_t done = page.done();
    if (done == call + 1) return std::nullopt;
    if (done != call) return Died("it announced a call that it was not given");
    waiting.Turn();
    if (!waiting.LookAround()) continue;
    if (HasSpoken() && page.done() == call) {
      PeerCallResult said = Receive(limit);  // it has given up: why?
      if (!std::holds_alternative<PeerReply>(said)) return said;
      return Died("it ended a burst before its last call");
    }
    if (MonotonicNs() < deadline_ns) continue;
    Kill();
    return CallTimedOut{limit};
  }
}

bool PeerProcess::HasSpoken() const {
  pollfd waited{child_.socket(), POLLIN, 0};
  return poll(&waited, 1, 0) > 0;
}

void PeerProcess::Pause() {
  if (alive_) kill(-child_.pid(), SIGSTOP);
}

void PeerProcess::Resume() {
  if (alive_) kill(-child_.pid(), SIGCONT);
}

void PeerProcess::Kill() {
  alive_ = false;
  child_.Kill();
}

}  // namespace warpsmith::judge
