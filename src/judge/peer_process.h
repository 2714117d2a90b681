// The oracle's end of a peer: a process that runs a candidate program, or PyTorch. Commands with a
// deadline, bursts released call by call, and a kill that works.
#ifndef WARPSMITH_JUDGE_PEER_PROCESS_H_
#define WARPSMITH_JUDGE_PEER_PROCESS_H_

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "core/verdict.h"
#include "judge/burst_page.h"
#include "judge/peer_wire.h"
#include "judge/runner_process.h"

namespace warpsmith::judge {

// After a time-out, a death, or a CUDA failure that may have spoilt its context the peer is dead
// (it has been killed); after a PeerReply or another Error it can go on.
using PeerCallResult = std::variant<PeerReply, Error, CallTimedOut, CallDied>;

// The verdict on a program whose step ended so; `call` is not a PeerReply. Whatever its process
// says for itself, the failure is the program's.
Outcome OutcomeOfPeer(const PeerCallResult& call, std::string_view step);
// The same where no candidate was involved: always the harness's trouble.
Error ErrorOfPeer(const PeerCallResult& call, std::string_view step);

struct PeerOptions {
  std::vector<std::string> argv;  // the socket's number is appended
  std::vector<std::string> environment;
  PeerStart start;
};

class PeerProcess {
 public:
  // Spawns it; it opens no device before Begin. What it prints is thrown away.
  static Result<std::unique_ptr<PeerProcess>> Spawn(const PeerOptions& options);
  // Sends the start command, without waiting.
  Status Begin(const PeerStart& start);
  // Both.
  static Result<std::unique_ptr<PeerProcess>> Start(const PeerOptions& options);

  // Waits for the reply to the start command; immediate once it has come.
  Status AwaitReady(std::chrono::milliseconds patience);
  // What it answered to the start command, once ready: the sandbox's level that it reached, and
  // what it is ("torch 2.11.0+cu130").
  const PeerReply& started() const { return started_; }

  PeerCallResult Call(const PeerCommand& command, std::chrono::milliseconds limit,
                      std::string_view payload = {}, const std::vector<int>& descriptors = {});

  // A burst: SendBurst, then RunCall for each call in order, then FinishBurst for its reply. A
  // result other than nothing (or, of the last, a PeerReply) ends it.
  std::optional<PeerCallResult> SendBurst(const PeerBurst& burst, const BurstPage& page);
  std::optional<PeerCallResult> RunCall(BurstPage& page, uint32_t call,
                                        std::span<const uint32_t> slots,
                                        std::chrono::milliseconds limit);
  // RunCall for a call that has been released on the page.
  std::optional<PeerCallResult> AwaitCall(BurstPage& page, uint32_t call,
                                          std::chrono::milliseconds limit);
  PeerCallResult FinishBurst(std::chrono::milliseconds limit) { return Receive(limit); }

  // Stops every thread of it (SIGSTOP), so that it cannot look at inputs before its time runs.
  void Pause();
  void Resume();

  bool alive() const { return alive_; }
  void Kill();

  std::string arena_id;  // bookkeeping of the oracle: what it has mapped

 private:
  explicit PeerProcess(ChildProcess child) : child_(std::move(child)) {}
  PeerCallResult Receive(std::chrono::milliseconds limit);
  std::optional<PeerCallResult> Send(const PeerCommand& command, std::string_view payload,
                                     const std::vector<int>& descriptors);
  PeerCallResult Died(std::string what);
  bool HasSpoken() const;

  ChildProcess child_;
  PeerReply started_;
  bool alive_ = true, ready_ = false;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PEER_PROCESS_H_
