#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/spawn.h"

namespace warpsmith {
namespace {

constexpr int kTickMs = 100;  // how often a long wait looks for Ctrl-C
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

constexpr int64_t kNsPerMs = 1'000'000;

// Reads what is there. False at the end of the stream.
bool Drain(int pipe, const ProcessLimits& limits, ProcessOutcome& outcome) {
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t got = read(pipe, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    const auto room = static_cast<size_t>(limits.output_bytes) - outcome.output.size();
    outcome.output.append(chunk.data(), std::min(static_cast<size_t>(got), room));
    outcome.output_cut |= static_cast<size_t>(got) > room;
  }
}

// Collects output until the leader has exited, the deadline has passed or Ctrl-C came.
void Follow(pid_t pid, int pipe, const ProcessLimits& limits, ProcessOutcome& outcome) {
  const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const int64_t deadline_ns = MonotonicNs() + limits.wall.count() * kNsPerMs;
  bool open = true;
  while (!HasExited(pid) && !Interrupted()) {
    const int64_t left_ns = deadline_ns - MonotonicNs();
    if (left_ns <= 0) {
      outcome.timed_out = true;
      return;
    }
    // poll() ignores negative descriptors; without a pidfd it looks at every tick.
    std::array<pollfd, 2> waited{{{open ? pipe : -1, POLLIN, 0}, {pidfd.number(), POLLIN, 0}}};
    const int64_t tick_ms = pidfd.number() >= 0 ? kTickMs : 5;
    const int64_t wait_ms = std::min(tick_ms, (left_ns + kNsPerMs - 1) / kNsPerMs);
    const int ready = poll(waited.data(), waited.size(), static_cast<int>(wait_ms));
    if (ready > 0 && waited[0].revents != 0) open = Drain(pipe, limits, outcome);
  }
}

SpawnRequest RequestFor(const std::vector<std::string>& argv, const ProcessLimits& limits,
                        const std::vector<std::string>& environment) {
  SpawnRequest request;
  request.argv = argv;
  request.environment = environment;
  request.address_space_bytes = limits.address_space_bytes;
  request.file_bytes = limits.file_bytes;
  return request;
}

}  // namespace

bool HasExited(pid_t child) {
  // WNOWAIT leaves the process to be reaped. Until then its number cannot be given to another
  // process, so a kill by that number hits no stranger.
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

std::optional<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != name.npos) {
    return access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string tried = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (access(tried.c_str(), X_OK) == 0) return tried;
  }
  return std::nullopt;
}

Result<ProcessOutcome> RunProcess(const std::vector<std::string>& argv, const ProcessLimits& limits,
                                  const std::vector<std::string>& environment) {
  CHECK(!argv.empty() && limits.output_bytes >= 0);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, "starting " + argv[0] + ": pipe: " + std::strerror(errno), ""};
  }
  const FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  fcntl(output.number(), F_SETFL, O_NONBLOCK);
  SpawnRequest request = RequestFor(argv, limits, environment);
  request.output = input.number();
  const pid_t pid = TRY(Spawn(request));
  input.Close();

  ProcessOutcome outcome;
  Follow(pid, output.number(), limits, outcome);
  const bool interrupted = Interrupted() && !HasExited(pid);
  const std::optional<int> status = KillAndReap(pid);  // its leftover children as well
  Drain(output.number(), limits, outcome);
  if (interrupted) return Error{ErrorCode::kInterrupted, "stopped while running " + argv[0], ""};
  if (!status) {
    return Error{ErrorCode::kUnavailable,
                 "stopping " + argv[0] + ": process " + std::to_string(pid) +
                     " was killed and does not die; it may be stuck in a driver",
                 "wait until it is gone"};
  }
  if (WIFSIGNALED(*status)) outcome.signal = WTERMSIG(*status);
  if (WIFEXITED(*status)) outcome.exit_status = WEXITSTATUS(*status);
  return outcome;
}

Result<ChildProcess> ChildProcess::Start(std::vector<std::string> argv, const ProcessLimits& limits,
                                         const std::vector<std::string>& environment) {
  CHECK(!argv.empty());
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{ErrorCode::kIo, "starting " + argv[0] + ": socketpair: " + std::strerror(errno),
                 ""};
  }
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  SpawnRequest request = RequestFor(argv, limits, environment);
  request.argv.push_back(std::to_string(kInheritedSocket));
  request.socket = theirs.number();
  const FileDescriptor nowhere(limits.discard_output ? open("/dev/null", O_WRONLY | O_CLOEXEC)
                                                     : -1);
  if (limits.discard_output && nowhere.number() < 0) {
    return Error{ErrorCode::kIo, std::string("opening /dev/null: ") + std::strerror(errno), ""};
  }
  request.output = nowhere.number();
  const pid_t pid = TRY(SpawnFromLastingThread(request));
  return ChildProcess(pid, ours.Release());
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::exchange(other.socket_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Kill();
    if (socket_ >= 0) close(socket_);
    pid_ = std::exchange(other.pid_, -1);
    socket_ = std::exchange(other.socket_, -1);
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  Kill();
  if (socket_ >= 0) close(socket_);
}

// One that does not die is found among the Survivors().
void ChildProcess::Kill() {
  if (pid_ > 0) KillAndReap(std::exchange(pid_, -1));
}

bool ChildProcess::Running() const { return pid_ > 0 && !HasExited(pid_); }

}  // namespace warpsmith
