#include "sandbox/isolation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

// A pivot takes a mount of our own; /tmp is a folder that every system has. What the system had is
// kOld until all has been taken from it.
constexpr char kStage[] = "/tmp";
constexpr char kOld[] = "/old", kNew[] = "/new";
constexpr int kMostLinks = 40;

Status WriteLine(const char* path, const std::string& line) {
  const FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  const auto bytes = static_cast<ssize_t>(line.size());
  if (file.number() < 0 || write(file.number(), line.data(), line.size()) != bytes) {
    return Failed("new user namespace: " + std::string(path));
  }
  return {};
}

Status EnterUserNamespace() {
  const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
  prctl(PR_SET_DUMPABLE, 1);  // off after a change of identity, and then the maps are not ours
  if (unshare(CLONE_NEWUSER) != 0) return Failed("new user namespace");
  TRY(WriteLine("/proc/self/setgroups", "deny"));
  TRY(WriteLine("/proc/self/uid_map", user + " " + user + " 1"));
  return WriteLine("/proc/self/gid_map", group + " " + group + " 1");
}

Status Mount(const fs::path& from, const fs::path& at, const char* type, unsigned long flags) {
  if (mount(from.c_str(), at.c_str(), type, flags, nullptr) == 0) return {};
  return Failed("mounting " + at.string());
}

Status MakeReadOnly(const fs::path& at, unsigned tree) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (syscall(SYS_mount_setattr, AT_FDCWD, at.c_str(), tree, &attributes, sizeof(attributes)) ==
      0) {
    return {};
  }
  return Failed("making " + at.string() + " read-only");
}

Status Pivot(const char* to, const char* old) {
  if (syscall(SYS_pivot_root, to, old) != 0 || chdir("/") != 0) {
    return Failed(std::string("changing the root folder to ") + to);
  }
  return {};
}

// `path`, an absolute one, in the old or in the new root.
fs::path In(const char* root, const fs::path& path) {
  return fs::path(root) / path.relative_path();
}

bool Exists(const fs::path& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0;
}

// Makes the folders and links on the way to `path` in the new root as they are in the old one, and
// returns where it lies when all links are followed.
Result<fs::path> LeadTo(const fs::path& path, int links_left) {
  fs::path way = "/";
  for (auto part = ++path.begin(); part != path.end(); ++part) {
    way /= *part;
    std::error_code failed;
    const fs::path target = fs::read_symlink(In(kOld, way), failed);
    if (!failed) {
      if (links_left == 0) return Error{ErrorCode::kIo, path.string() + ": links in a circle", ""};
      if (!Exists(In(kNew, way))) fs::create_symlink(target, In(kNew, way), failed);
      fs::path onward = (way.parent_path() / target);
      for (++part; part != path.end(); ++part) onward /= *part;
      return LeadTo(onward.lexically_normal(), links_left - 1);
    }
    if (Exists(In(kNew, way))) continue;
    const bool is_folder = fs::is_directory(In(kOld, way), failed);
    if (is_folder ? mkdir(In(kNew, way).c_str(), 0755) != 0
                  : mknod(In(kNew, way).c_str(), S_IFREG | 0644, 0) != 0) {
      return Failed("new root folder: making " + way.string());
    }
  }
  return way;
}

bool IsOfTheKernel(const fs::path& path) {
  const std::string text = path.string() + "/";
  return text.starts_with("/proc/") || text.starts_with("/sys/");
}

Status Show(const PathRule& rule) {
  if (IsOfTheKernel(rule.path)) return {};  // shown whole
  const fs::path at = TRY(LeadTo(rule.path, kMostLinks));
  TRY(Mount(In(kOld, at), In(kNew, at), nullptr, MS_BIND | MS_REC));
  if (rule.access == Access::kWrite || rule.access == Access::kDevice) return {};
  return MakeReadOnly(In(kNew, at), AT_RECURSIVE);
}

// By an empty file that nobody may open.
Status Hide(const std::vector<fs::path>& files) {
  if (files.empty()) return {};
  const char* nothing = "/nothing";
  const FileDescriptor made(open(nothing, O_CREAT | O_WRONLY | O_CLOEXEC, 0));
  if (made.number() < 0) return Failed("making an empty file");
  for (const fs::path& file : files) TRY(Mount(nothing, In(kNew, file), nullptr, MS_BIND));
  return {};
}

// Root is then a stage of our own, the old root is kOld, and an empty kNew is a mount.
Status SetStage() {
  TRY(Mount("none", "/", nullptr, MS_SLAVE | MS_REC));  // nothing of ours is seen outside
  TRY(Mount("tmpfs", kStage, "tmpfs", MS_NOSUID | MS_NODEV));
  const std::string old = std::string(kStage) + kOld;
  if (chdir(kStage) != 0 || mkdir(kOld + 1, 0755) != 0 || mkdir(kNew + 1, 0755) != 0) {
    return Failed("preparing a new root folder");
  }
  TRY(Pivot(kStage, old.c_str()));
  return Mount(kNew, kNew, nullptr, MS_BIND | MS_REC);
}

Status LeaveStage() {
  if (umount2(kOld, MNT_DETACH) != 0) return Failed("letting go of the old root folder");
  if (chdir(kNew) != 0) return Failed("entering the new root folder");
  TRY(Pivot(".", "."));
  if (umount2(".", MNT_DETACH) != 0) return Failed("letting go of the stage");
  return MakeReadOnly("/", 0);
}

Status BuildRoot(const Isolation& isolation) {
  umask(0);
  TRY(SetStage());
  for (const PathRule& rule : isolation.rules) TRY(Show(rule));
  for (const char* tree : {"/proc", "/sys"}) {
    if (!Exists(In(kOld, tree))) continue;
    if (mkdir(In(kNew, tree).c_str(), 0755) != 0) return Failed("preparing a new root folder");
    TRY(Mount(In(kOld, tree), In(kNew, tree), nullptr, MS_BIND | MS_REC));
  }
  TRY(Hide(isolation.hidden_files));
  return LeaveStage();
}

bool Says(const char* path, std::string_view value) {
  const auto text = ReadFile(path);
  return text.ok() && std::string_view(*text).starts_with(value);
}

}  // namespace

Status Isolate(const Isolation& isolation, IsolationMeans means) {
  if (means == IsolationMeans::kUserNamespace) TRY(EnterUserNamespace());
  const int network = isolation.network ? 0 : CLONE_NEWNET;
  if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | network) != 0) {
    return Failed("new mount, network, IPC and UTS namespaces");
  }
  return BuildRoot(isolation);
}

std::string WhyNoNamespaces() {
  if (Says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
    return "AppArmor lets only programs with a profile of their own have user namespaces here "
           "(Ubuntu since 23.10; docs/sandbox.md has the profile)";
  }
  if (Says("/proc/sys/kernel/unprivileged_userns_clone", "0")) {
    return "user namespaces are off for users: sysctl kernel.unprivileged_userns_clone=1";
  }
  if (Says("/proc/sys/user/max_user_namespaces", "0\n")) {
    return "user namespaces are off: sysctl user.max_user_namespaces=10000";
  }
  if (Exists("/.dockerenv") || Exists("/run/.containerenv")) {
    return "this is a container whose own filter forbids namespaces";
  }
  return "";
}

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
