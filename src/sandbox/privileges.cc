#include "sandbox/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

// The signal that ends us with our parent is forgotten when the identity changes.
class DeathSignal {
 public:
  DeathSignal() : parent_(getppid()) { prctl(PR_GET_PDEATHSIG, &signal_); }
  Status Restore() const {
    if (signal_ == 0) return {};
    if (prctl(PR_SET_PDEATHSIG, signal_) != 0) return Failed("signal of the parent's death");
    if (getppid() != parent_) _exit(127);  // it died in between
    return {};
  }

 private:
  int signal_ = 0;
  pid_t parent_;
};

bool ChangeIdentity() {
  return setgroups(0, nullptr) == 0 &&
         setresgid(kUnprivilegedId, kUnprivilegedId, kUnprivilegedId) == 0 &&
         setresuid(kUnprivilegedId, kUnprivilegedId, kUnprivilegedId) == 0;
}

int AccessMode(const PathRule& rule) {
  std::error_code ignored;
  const int enter = fs::is_directory(rule.path, ignored) ? X_OK : 0;
  const bool writes = rule.access == Access::kWrite || rule.access == Access::kDevice;
  return R_OK | enter | (writes ? W_OK : 0);
}

bool IsPerProcess(const fs::path& path) {
  return path == "/proc" || path.string().starts_with("/proc/self");
}

constexpr int kAllReachable = 255;

// The number of the first rule out of reach for whom we would become, of the first 254.
int FirstUnreachable(const std::vector<PathRule>& rules) {
  const auto answer = TryInChild([&](int /*pipe_end*/) {
    if (!ChangeIdentity()) return kAllReachable;  // the caller will see for itself
    for (size_t i = 0; i < rules.size() && i < kAllReachable; ++i) {
      if (IsPerProcess(rules[i].path)) continue;  // ours is ours, whoever we are
      const bool ours = access(rules[i].path.c_str(), AccessMode(rules[i])) == 0;
      if (!ours && (errno == EACCES || errno == EPERM)) return static_cast<int>(i);
    }
    return kAllReachable;
  });
  return answer.ok() ? answer->status : kAllReachable;
}

// Who could not read it as root either (a file of a network file system, another's FUSE mount) is
// not why we would stay root.
std::vector<PathRule> ReachableByRoot(const std::vector<PathRule>& rules) {
  std::vector<PathRule> reachable;
  for (const PathRule& rule : rules) {
    if (access(rule.path.c_str(), AccessMode(rule)) == 0) reachable.push_back(rule);
  }
  return reachable;
}

int64_t ThreadsOf(const fs::path& process) {
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Threads:")) continue;
    return std::strtoll(line.c_str() + line.find_first_of("0123456789"), nullptr, 10);
  }
  return 0;
}

Status Limit(__rlimit_resource resource, int64_t most, const char* what) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return Failed(std::string("limit of ") + what);
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(most));
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(resource, &limit) != 0) return Failed(std::string("limit of ") + what);
  return {};
}

}  // namespace

Result<std::string> LeaveRoot(const std::vector<PathRule>& rules) {
  if (geteuid() != 0 && getuid() != 0) return std::string();
  const std::vector<PathRule> ours = ReachableByRoot(rules);
  const int first = FirstUnreachable(ours);
  if (first != kAllReachable) {
    return "user 65534 cannot reach " + ours[static_cast<size_t>(first)].path.string() +
           ": move it, or let others read it";
  }
  const DeathSignal death;
  if (!ChangeIdentity()) return Failed("becoming user 65534").message;
  TRY(death.Restore());
  return std::string();
}

Status DropCapabilities() {
  // Only who may change the bounding set can; for others no_new_privs keeps it from mattering.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    prctl(PR_CAPBSET_DROP, capability);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  const DeathSignal death;
  if (syscall(SYS_capset, &header, none.data()) != 0) return Failed("dropping capabilities");
  return death.Restore();
}

Status RefuseNewPrivileges() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("no_new_privs");
  return {};
}

Status SetDumpable(bool dumpable) {
  if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0) != 0) return Failed("prctl(PR_SET_DUMPABLE)");
  return {};
}

int64_t ThreadsOfThisUser() {
  int64_t threads = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    struct stat about {};
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (stat(entry.path().c_str(), &about) != 0 || about.st_uid != getuid()) continue;
    threads += ThreadsOf(entry.path());
  }
  return threads;
}

void RaiseOomScore() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

Status SetLimits(const Limits& limits, int64_t threads_already) {
  TRY(Limit(RLIMIT_CORE, 0, "core dumps"));
  TRY(Limit(RLIMIT_RTPRIO, 0, "real-time priority"));
  if (limits.address_space_bytes > 0) {
    TRY(Limit(RLIMIT_AS, limits.address_space_bytes, "address space"));
  }
  if (limits.data_bytes > 0) TRY(Limit(RLIMIT_DATA, limits.data_bytes, "data"));
  if (limits.file_bytes > 0) TRY(Limit(RLIMIT_FSIZE, limits.file_bytes, "file size"));
  if (limits.open_files > 0) TRY(Limit(RLIMIT_NOFILE, limits.open_files, "open files"));
  if (limits.processes > 0) {
    TRY(Limit(RLIMIT_NPROC, threads_already + limits.processes, "processes"));
  }
  return {};
}

Status GiveToUnprivileged(const fs::path& folder) {
  if (geteuid() != 0) return {};
  std::vector<fs::path> paths = {folder};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) paths.push_back(entry.path());
  for (const fs::path& path : paths) {
    if (lchown(path.c_str(), kUnprivilegedId, kUnprivilegedId) == 0) continue;
    if (errno == EINVAL || errno == EPERM) return {};  // a container without that user: stays root
    return Error{ErrorCode::kIo, "giving " + path.string() + " away: " + std::strerror(errno), ""};
  }
  return {};
}

}  // namespace warpsmith::sandbox
