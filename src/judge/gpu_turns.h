// Whose turn it is on a GPU. Measuring processes keep off each other by a lock file named after the
// GPU's UUID. One that has no patience keeps it for as long as it lives; those that wait for each
// other take turns, and what they do without the GPU (compiling, asking a model) goes on meanwhile.
// Whoever waits comes before the process that has just had a turn; who of several, is chance.
// The threads of a process take turns, whatever its patience: a profile disturbs a measurement just
// as well where both are ours.
#ifndef WARPSMITH_JUDGE_GPU_TURNS_H_
#define WARPSMITH_JUDGE_GPU_TURNS_H_

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/result.h"

namespace warpsmith::judge {

// kUnavailable where a process of ours was killed and has not died: stuck in the driver, it may
// still work on the GPU, and what is measured beside it is wrong.
Status CheckNoSurvivors();

class GpuTurns {
 public:
  // For as long as one lives, nobody else takes one: no other process, no other thread of this one.
  class Turn {
   public:
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    friend class GpuTurns;
    explicit Turn(GpuTurns* turns) : turns_(turns) {}
    GpuTurns* turns_;
  };

  GpuTurns(std::filesystem::path lock_file, std::string what, std::chrono::milliseconds patience);
  // Thread-safe. kBusy: other processes measured for the whole patience. kInterrupted: the user had
  // enough of waiting. kUnavailable: somebody was left behind; other processes are kept off, too,
  // as long as this one lives. Whoever holds a turn must not take another: it would wait for
  // itself.
  Result<Turn> Take();
  double held_seconds() const;  // of this process, all turns together

 private:
  Status AwaitThreads();
  Result<FileLock> AwaitProcesses() const;
  void Leave();

  const std::filesystem::path lock_file_;
  const std::string what_;
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;  // held briefly, never while others are waited for
  std::condition_variable left_;
  bool is_taken_ = false;  // or about to be: its taker waits for other processes
  std::optional<FileLock> lock_;
  double locked_at_ = 0, held_before_ = 0;  // seconds
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_GPU_TURNS_H_
