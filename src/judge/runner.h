// The runner: the child process that loads a candidate and launches it. It is our code, but the
// device code it launches is not: whatever that does to this process stays in it. It never sees an
// expected output.
#ifndef WARPSMITH_JUDGE_RUNNER_H_
#define WARPSMITH_JUDGE_RUNNER_H_

#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace warpsmith::judge {

// The hidden subcommand: `warpsmith internal-runner <socket>`.
inline constexpr std::string_view kRunnerSubcommand = "internal-runner";

// Answers commands on the socket until it closes; the process's exit status. `host_ns` times the
// calls of the mode "server".
int RunnerMain(int socket, int64_t (*host_ns)() = MonotonicNs);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RUNNER_H_
