#include "base/kill_group.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/spawn.h"

namespace warpsmith {
namespace {

constexpr int kTickMs = 100;
constexpr std::chrono::milliseconds kNap{1};

struct Registry {
  std::mutex mutex;
  std::vector<pid_t> survivors;
};

// Never destroyed: processes are killed by destructors of statics, too.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

// False at the deadline.
bool AwaitExit(pid_t child, std::chrono::milliseconds patience) {
  const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  const int64_t deadline_ns = MonotonicNs() + std::chrono::nanoseconds(patience).count();
  while (!HasExited(child)) {
    if (MonotonicNs() >= deadline_ns) return false;
    pollfd waited{pidfd.number(), POLLIN, 0};
    // Without a pidfd, or where somebody else is to learn of its end first: look again soon.
    const bool waits = pidfd.number() >= 0 && poll(&waited, 1, kTickMs) == 0;
    if (!waits && !HasExited(child)) std::this_thread::sleep_for(kNap);
  }
  return true;
}

}  // namespace

bool HasExited(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

std::optional<int> KillAndReap(pid_t leader, std::chrono::milliseconds patience) {
  kill(-leader, SIGKILL);
  kill(leader, SIGKILL);  // between fork and setpgid it is not in the group yet
  if (!AwaitExit(leader, patience)) {
    Registry& registry = TheRegistry();
    const std::lock_guard guard(registry.mutex);
    registry.survivors.push_back(leader);
    return std::nullopt;
  }
  int status = 0;
  return waitpid(leader, &status, WNOHANG) == leader ? status : 0;
}

std::vector<pid_t> Survivors() {
  Registry& registry = TheRegistry();
  const std::lock_guard guard(registry.mutex);
  std::erase_if(registry.survivors, [](pid_t pid) {
    if (!HasExited(pid)) return false;
    waitpid(pid, nullptr, WNOHANG);
    return true;
  });
  return registry.survivors;
}

}  // namespace warpsmith
