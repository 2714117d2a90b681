// The oracle's end of a process that it calls: a runner, a candidate's program, PyTorch. Commands
// with a deadline, bursts that are released call by call, and a kill that works.
#ifndef WARPSMITH_JUDGE_CALLED_PROCESS_H_
#define WARPSMITH_JUDGE_CALLED_PROCESS_H_

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "core/verdict.h"
#include "judge/burst_page.h"
#include "judge/wire.h"

namespace warpsmith::judge {

struct CallTimedOut {
  std::chrono::milliseconds limit{0};
};
struct CallDied {
  std::string what;  // it closed, broke the format, or could not be reached
};
// How a call can end. After a time-out, a death or a CUDA failure that may have spoilt its context
// the process is dead (it has been killed). After a Reply or another Error it can go on.
using CallResult = std::variant<Reply, Error, CallTimedOut, CallDied>;

// The call failed where no candidate was involved: always the harness's trouble.
Error ErrorOfCall(const CallResult& call, std::string_view step);

// Whose code runs in the process, and so whose word its errors are.
enum class HostCode : uint8_t {
  kOurs,     // ours: only device code is the candidate's
  kForeign,  // a program's host code, PyTorch: whatever it says, its failure is its own
};

struct ProcessOptions {
  std::vector<std::string> argv;  // the socket's number is appended
  StartCommand start;
  std::string start_payload = {};
  HostCode host_code = HostCode::kOurs;
};

class CalledProcess {
 public:
  // Spawns it; it opens no device before Begin. What a foreigner prints is thrown away.
  static Result<std::unique_ptr<CalledProcess>> Spawn(const ProcessOptions& options);
  // Sends the start command, without waiting: a context takes 0.4 s, a library's import seconds.
  Status Begin(const StartCommand& start, std::string_view payload = {});
  // Both.
  static Result<std::unique_ptr<CalledProcess>> Start(const ProcessOptions& options);

  // Waits for the reply to the start command; immediate once it has come.
  Status AwaitReady(std::chrono::milliseconds patience);
  // What it answered to the start command, once ready: the sandbox's level that it reached, and
  // what it is ("torch 2.11.0+cu130").
  const Reply& started() const { return started_; }

  // Sends a command and waits for its reply.
  CallResult Call(const Command& command, std::chrono::milliseconds limit,
                  std::string_view payload = {}, const std::vector<int>& descriptors = {});

  // A burst: SendBurst, then on the page a Release and AwaitCall for each call in order, then
  // FinishBurst for its reply. A result other than nothing (or, of the last, a Reply) ends it.
  std::optional<CallResult> SendBurst(const BurstCommand& burst, const BurstPage& page);
  std::optional<CallResult> AwaitCall(BurstPage& page, uint32_t call,
                                      std::chrono::milliseconds limit);
  CallResult FinishBurst(std::chrono::milliseconds limit) { return Receive(limit); }

  // The verdict on a candidate whose step in this process ended so; `call` is not a Reply. A CUDA
  // failure or a death is the candidate's. Other errors of a runner are ours, but for kBadInput:
  // the candidate's plan does not fit. Other errors of a foreigner are the candidate's own.
  Outcome OutcomeOf(const CallResult& call, std::string_view step) const;

  // Stops every thread of it (SIGSTOP), so that it cannot look at inputs before its time runs.
  void Pause();
  void Resume();

  bool alive() const { return alive_; }
  void Kill();

  // Bookkeeping of the oracle: which arena it has mapped, which baselines are ready in it, how many
  // candidates it has loaded.
  std::string arena_id;
  std::vector<std::string> baselines;
  int candidates = 0;

 private:
  CalledProcess(ChildProcess child, HostCode host_code)
      : child_(std::move(child)), host_code_(host_code) {}
  std::optional<CallResult> Send(const Command& command, std::string_view payload,
                                 const std::vector<int>& descriptors);
  CallResult Receive(std::chrono::milliseconds limit);
  CallResult Died(std::string what);
  bool HasMessage() const;

  ChildProcess child_;
  HostCode host_code_;
  Reply started_;
  bool alive_ = true, ready_ = false;
};

// Keeps processes started ahead.
class RunnerPool {
 public:
  explicit RunnerPool(ProcessOptions options) : options_(std::move(options)) {}

  // Starts runners until `count` are waiting; does not wait for them.
  Status Prepare(size_t count);
  // A fresh runner, ready. Runners still starting are waited for too, so that no context is being
  // created while something is timed.
  Result<std::unique_ptr<CalledProcess>> Take();
  // A fresh one that may still be starting, as others may.
  Result<std::unique_ptr<CalledProcess>> Next();
  // Waits for everything that is starting.
  Status Settle();
  bool IsEmpty() const { return waiting_.empty(); }

 private:
  ProcessOptions options_;
  std::deque<std::unique_ptr<CalledProcess>> waiting_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CALLED_PROCESS_H_
