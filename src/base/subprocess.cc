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
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/kill_group.h"
#include "base/spawn.h"

namespace warpsmith {
namespace {

constexpr int64_t kWaitTickMs = 100;  // how often a long wait looks for Ctrl-C
constexpr int64_t kNsPerMs = 1'000'000;

int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

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
  const FileDescriptor pidfd(OpenPidfd(pid));
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
    const int64_t tick_ms = pidfd.number() >= 0 ? kWaitTickMs : 5;
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
