// The end of a child process, and what happens where it has none. SIGKILL waits for whoever is
// stuck in a driver: such a process lives on, and with it whatever it does on the GPU.
#ifndef WARPSMITH_BASE_KILL_GROUP_H_
#define WARPSMITH_BASE_KILL_GROUP_H_

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

namespace warpsmith {

inline constexpr std::chrono::milliseconds kDeathPatience{10'000};

// Kills the process group that a child of ours leads, and reaps the child. Its wait status; nothing
// where it has not died within the patience: then it is one of the survivors.
std::optional<int> KillAndReap(pid_t leader, std::chrono::milliseconds patience = kDeathPatience);

// Has it ended? It stays a zombie until it is reaped, so that its group's number is not reused.
bool HasExited(pid_t child);

// Those that outlived their kill and still do, of this process; the dead among them are reaped
// first. Thread-safe.
std::vector<pid_t> Survivors();

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_KILL_GROUP_H_
