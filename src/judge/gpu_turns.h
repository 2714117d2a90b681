// Whose turn it is on a GPU. Measuring processes keep off each other by a lock file named after the
// GPU's UUID. One that has no patience keeps it for as long as it lives; those that wait for each
// other take turns, and what they do without the GPU (compiling, asking a model) goes on meanwhile.
#ifndef WARPSMITH_JUDGE_GPU_TURNS_H_
#define WARPSMITH_JUDGE_GPU_TURNS_H_

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "util/file_lock.h"
#include "util/result.h"

namespace warpsmith::judge {

class GpuTurns {
 public:
  // For as long as one lives, no other process measures. Threads of this one may hold several.
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
  // kBusy: others measured for the whole patience. kInterrupted: the user had enough of waiting.
  Result<Turn> Take();
  double held_seconds() const;  // of this process, all turns together

 private:
  void Leave();

  const std::filesystem::path lock_file_;
  const std::string what_;
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::optional<FileLock> lock_;
  int holders_ = 0;
  double locked_at_ = 0, held_before_ = 0;  // seconds
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_GPU_TURNS_H_
