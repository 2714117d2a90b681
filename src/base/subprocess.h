// Child processes with limits, killed as a whole group.
#ifndef WARPSMITH_BASE_SUBPROCESS_H_
#define WARPSMITH_BASE_SUBPROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith {

// The end of a child process, and what happens where it has none. SIGKILL waits for whoever is
// stuck in a driver: such a process lives on, and with it whatever it does on the GPU.
inline constexpr std::chrono::milliseconds kDeathPatience{10'000};

// Kills the process group that a child of ours leads, and reaps the child. Its wait status; nothing
// where it has not died within the patience: then it is one of the survivors.
std::optional<int> KillAndReap(pid_t leader, std::chrono::milliseconds patience = kDeathPatience);

// Has it ended? It stays a zombie until it is reaped, so that its group's number is not reused.
bool HasExited(pid_t child);

// Those that outlived their kill and still do, of this process; the dead among them are reaped
// first. Thread-safe.
std::vector<pid_t> Survivors();

// Programs as the shell finds them.
// The file of that name in PATH, or the name itself where it is a path; nullopt: there is none that
// may be run.
std::optional<std::string> FindProgram(const std::string& name);

struct ProcessLimits {
  std::chrono::milliseconds wall{60'000};
  int64_t address_space_bytes = 0;  // 0: unlimited (a CUDA context needs it so)
  int64_t output_bytes = 1 << 20;   // of stdout and stderr together; more is cut and said
  int64_t file_bytes = 0;           // largest file it may write; 0: unlimited
  bool discard_output = false;      // of a ChildProcess: stdout and stderr; false: ours
};

struct ProcessOutcome {
  int exit_status = 0;  // meaningful when !timed_out && signal == 0
  int signal = 0;
  bool timed_out = false;
  bool output_cut = false;
  std::string output;  // stdout and stderr, interleaved
};

// Runs a command to its end in a process group of its own; at the time limit the whole group is
// killed with SIGKILL. `environment` entries ("NAME=value") are added to ours.
Result<ProcessOutcome> RunProcess(const std::vector<std::string>& argv, const ProcessLimits& limits,
                                  const std::vector<std::string>& environment = {});

// A long-lived child that talks over one socket (its descriptor number is passed as the last
// argument). Only that socket and stdio are inherited; stdin is /dev/null. Killed with its group on
// destruction; PR_SET_PDEATHSIG ends it when we die.
class ChildProcess {
 public:
  // argv[0] is a path or a name in PATH. Of `limits`, `wall` and `output_bytes` do not apply.
  static Result<ChildProcess> Start(std::vector<std::string> argv, const ProcessLimits& limits,
                                    const std::vector<std::string>& environment = {});
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  int socket() const { return socket_; }
  pid_t pid() const { return pid_; }
  void Kill();           // SIGKILL to the group, then reaped; idempotent
  bool Running() const;  // false, too, once it has ended by itself

 private:
  ChildProcess(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_SUBPROCESS_H_
