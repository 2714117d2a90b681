// The oracle's end of a runner: commands with a deadline, and a kill that works.
#ifndef WARPSMITH_JUDGE_RUNNER_PROCESS_H_
#define WARPSMITH_JUDGE_RUNNER_PROCESS_H_

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "core/verdict.h"
#include "judge/wire.h"

namespace warpsmith::judge {

// How a call can end. After a time-out, a death or a CUDA failure that may have spoilt its context
// the runner is dead (it has been killed); after a Reply or another Error it can go on.
struct CallTimedOut {
  std::chrono::milliseconds limit{0};
};
struct CallDied {
  std::string what;  // it closed, broke the format, or could not be reached
};
using CallResult = std::variant<Reply, Error, CallTimedOut, CallDied>;

// The verdict on a candidate whose step ended so; `call` is not a Reply. A CUDA failure or a death
// is the candidate's, kBadInput says its plan does not fit, anything else is ours.
Outcome OutcomeOfCall(const CallResult& call, std::string_view step);
// The same call where no candidate was involved: always the harness's trouble.
Error ErrorOfCall(const CallResult& call, std::string_view step);

struct RunnerOptions {
  std::vector<std::string> argv;  // the socket's number is appended
  std::string device_uuid;
  std::string kernels;  // cubin
};

class RunnerProcess {
 public:
  // Spawns it and sends the start command, without waiting: a context takes ~0.4 s.
  static Result<std::unique_ptr<RunnerProcess>> Start(const RunnerOptions& options);

  // Waits for the reply to the start command; immediate once it has come.
  Status AwaitReady(std::chrono::milliseconds patience);

  // Sends a command and waits for its reply.
  CallResult Call(const Command& command, std::chrono::milliseconds limit,
                  std::string_view payload = {}, const std::vector<int>& descriptors = {});

  bool alive() const { return alive_; }
  void Kill();

  // Bookkeeping of the oracle: which arena it has mapped, how many candidates it has loaded.
  std::string arena_id;
  std::vector<std::string> baselines;
  int candidates = 0;

 private:
  explicit RunnerProcess(ChildProcess child) : child_(std::move(child)) {}
  CallResult Receive(std::chrono::milliseconds limit);

  ChildProcess child_;
  bool alive_ = true, ready_ = false;
};

// Keeps one runner started ahead.
class RunnerPool {
 public:
  explicit RunnerPool(RunnerOptions options) : options_(std::move(options)) {}

  // Starts runners until `count` are waiting; does not wait for them.
  Status Prepare(size_t count);
  // A fresh runner, ready. Runners still starting are waited for too, so that no context is being
  // created while something is timed.
  Result<std::unique_ptr<RunnerProcess>> Take();
  // Waits for everything that is starting.
  Status Settle();

 private:
  RunnerOptions options_;
  std::deque<std::unique_ptr<RunnerProcess>> waiting_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RUNNER_PROCESS_H_
