#include "base/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/caught.h"
#include "base/subprocess.h"

namespace warpsmith {
namespace {

// Everything the child needs, made before the fork: after it only async-signal-safe calls are
// allowed, since another thread may hold the allocator's lock.
struct Prepared {
  std::string path;
  std::vector<std::string> environment;
  std::vector<char*> argv, envp;
  int output = -1, socket = -1, report = -1, devnull = -1;
  rlim_t address_space = RLIM_INFINITY, file_size = RLIM_INFINITY;
  pid_t parent = 0;
  int max_descriptor = 0;
};

constexpr int kReport = 4;      // where the child keeps the pipe that tells why exec failed
constexpr int kFirstFree = 16;  // above every number that dup2 writes to

[[noreturn]] void Give(int report, int reason) {
  [[maybe_unused]] const ssize_t written = write(report, &reason, sizeof(reason));
  _exit(127);
}

bool LimitResource(int resource, rlim_t most) {
  if (most == RLIM_INFINITY) return true;
  const rlimit limit{most, most};
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

bool ArrangeDescriptors(const Prepared& prepared, int& report) {
  // Out of the way first, so that no dup2 below overwrites one that is still to be moved.
  report = fcntl(report, F_DUPFD_CLOEXEC, kFirstFree);
  const int output = prepared.output < 0 ? -1 : fcntl(prepared.output, F_DUPFD_CLOEXEC, kFirstFree);
  const int socket = prepared.socket < 0 ? -1 : fcntl(prepared.socket, F_DUPFD_CLOEXEC, kFirstFree);
  const int devnull = fcntl(prepared.devnull, F_DUPFD_CLOEXEC, kFirstFree);
  if (dup2(devnull, STDIN_FILENO) < 0) return false;
  if (output >= 0 && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)) {
    return false;
  }
  if (socket >= 0 && dup2(socket, kInheritedSocket) < 0) return false;
  if (dup3(report, kReport, O_CLOEXEC) < 0) return false;
  report = kReport;
  if (socket < 0) close(kInheritedSocket);
  if (close_range(kReport + 1, ~0U, 0) != 0) {  // a kernel before 5.9
    for (int fd = kReport + 1; fd < prepared.max_descriptor; ++fd) close(fd);
  }
  return true;
}

void ResetSignals() {
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGCHLD}) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void BecomeChild(const Prepared& prepared) {
  int report = prepared.report;
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Give(report, errno);
  if (getppid() != prepared.parent) _exit(127);  // it died before the line above
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Give(report, errno);
  ResetSignals();
  if (!ArrangeDescriptors(prepared, report)) Give(report, errno);
  if (!LimitResource(RLIMIT_CORE, 0) || !LimitResource(RLIMIT_FSIZE, prepared.file_size) ||
      !LimitResource(RLIMIT_AS, prepared.address_space)) {
    Give(report, errno);
  }
  execve(prepared.path.c_str(), prepared.argv.data(), prepared.envp.data());
  Give(report, errno);
}

std::vector<std::string> Environment(const std::vector<std::string>& added) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  for (const std::string& entry : added) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(entries, [&](const std::string& old) { return old.starts_with(name); });
    entries.push_back(entry);
  }
  return entries;
}

rlim_t LimitOf(int64_t bytes) { return bytes > 0 ? static_cast<rlim_t>(bytes) : RLIM_INFINITY; }

// Pointers into `request`, which must outlive what is returned.
Prepared Prepare(const SpawnRequest& request) {
  Prepared prepared;
  prepared.path = FindProgram(request.argv[0]).value_or(request.argv[0]);
  for (const std::string& argument : request.argv) {
    prepared.argv.push_back(const_cast<char*>(argument.c_str()));
  }
  prepared.argv.push_back(nullptr);
  prepared.environment = Environment(request.environment);
  for (std::string& entry : prepared.environment) prepared.envp.push_back(entry.data());
  prepared.envp.push_back(nullptr);
  prepared.output = request.output;
  prepared.socket = request.socket;
  prepared.address_space = LimitOf(request.address_space_bytes);
  prepared.file_size = LimitOf(request.file_bytes);
  prepared.parent = getpid();
  prepared.max_descriptor = static_cast<int>(std::min(sysconf(_SC_OPEN_MAX), 65536L));
  return prepared;
}

Error CannotStart(const std::string& program, int reason) {
  const bool absent = reason == ENOENT || reason == ENOTDIR || reason == EACCES ||
                      reason == ENOEXEC || reason == ELIBBAD;
  return Error{absent ? ErrorCode::kUnavailable : ErrorCode::kIo,
               "starting " + program + ": " + std::strerror(reason),
               absent ? "install it, or put its folder into PATH" : ""};
}

// 0 when exec went well (the pipe closed unwritten), else the errno that the child sent.
int ExecFailure(int pipe) {
  int reason = 0;
  ssize_t got = 0;
  do {
    got = read(pipe, &reason, sizeof(reason));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(reason) ? reason : 0;
}

}  // namespace

int FileDescriptor::Release() { return std::exchange(number_, -1); }

void FileDescriptor::Close() {
  if (number_ >= 0) close(std::exchange(number_, -1));
}

Result<pid_t> Spawn(const SpawnRequest& request) {
  CHECK(!request.argv.empty());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return CannotStart(request.argv[0], errno);
  const FileDescriptor report(ends[0]);
  FileDescriptor child_report(ends[1]);
  const FileDescriptor devnull(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Prepared prepared = Prepare(request);
  prepared.report = child_report.number();
  prepared.devnull = devnull.number();

  const pid_t pid = fork();
  if (pid < 0) return CannotStart(request.argv[0], errno);
  if (pid == 0) BecomeChild(prepared);
  setpgid(pid, pid);  // here too, so that the group exists whoever comes first
  child_report.Close();
  const int reason = ExecFailure(report.number());
  if (reason == 0) return pid;
  waitpid(pid, nullptr, 0);
  return CannotStart(prepared.path, reason);
}

namespace {

// One thread that forks for all the others, made on first use and never ended.
class Spawner {
 public:
  Spawner() {
    std::thread([this] { Serve(); }).detach();
  }
  bool IsOurs() const { return owner_ == getpid(); }

  Result<pid_t> Do(const SpawnRequest& request) {
    const std::lock_guard one_at_a_time(turn_);
    std::unique_lock lock(mutex_);
    request_ = &request;
    changed_.notify_all();
    changed_.wait(lock, [&] { return result_.has_value(); });
    return *std::exchange(result_, std::nullopt);
  }

 private:
  [[noreturn]] void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return request_ != nullptr; });
      result_.emplace(Caught([this] { return Spawn(*std::exchange(request_, nullptr)); }));
      changed_.notify_all();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable changed_;
  const pid_t owner_ = getpid();
  const SpawnRequest* request_ = nullptr;
  std::optional<Result<pid_t>> result_;
};

}  // namespace

Result<pid_t> SpawnFromLastingThread(const SpawnRequest& request) {
  // Never destroyed: its thread outlives main(). Made anew in a fork of a process that had one.
  static std::atomic<Spawner*> spawner{nullptr};
  static std::mutex making;
  if (Spawner* made = spawner; made != nullptr && made->IsOurs()) return made->Do(request);
  const std::lock_guard lock(making);
  if (Spawner* made = spawner; made == nullptr || !made->IsOurs()) spawner = new Spawner;
  return spawner.load()->Do(request);
}

}  // namespace warpsmith
