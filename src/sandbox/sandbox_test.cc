#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "sandbox/tests/locked_in.h"

namespace warpsmith::sandbox {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string OpenFor(const std::filesystem::path& path, int flags) {
  const int file = open(path.c_str(), flags, 0600);
  const std::string outcome = Outcome(file);
  if (file >= 0) close(file);
  return outcome;
}

INSTANTIATE_TEST_SUITE_P(Sandbox, LockedInTest, kEveryCase, NameOf);

const auto kRefused = AnyOf("EACCES", "EPERM", "ENOENT", "EROFS");

TEST_P(LockedInTest, ReadsWhatIsAllowedAndNothingElse) {
  const auto read = [&](const std::filesystem::path& path) {
    return Run(Usual(), [&](const Reached&) { return OpenFor(path, O_RDONLY); });
  };
  const std::string allowed = read(Allowed() / "file");
  SKIP_IF_NOT_REACHED(allowed);
  EXPECT_EQ(allowed, "done");
  for (const std::filesystem::path& path :
       {std::filesystem::path("/etc/shadow"), std::filesystem::path("/etc/passwd"),
        Elsewhere() / "file", std::filesystem::path("/proc/1/environ"),
        Allowed() / "../elsewhere/file"}) {
    EXPECT_THAT(read(path), kRefused) << path;
  }
}

TEST_P(LockedInTest, LinksLeadNowhere) {
  std::filesystem::create_symlink(Elsewhere() / "file", Allowed() / "link");
  const std::string answer =
      Run(Usual(), [&](const Reached&) { return OpenFor(Allowed() / "link", O_RDONLY); });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_THAT(answer, kRefused);
}

TEST_P(LockedInTest, WritesNowhereButInItsFolder) {
  const std::string own =
      Run(Usual(), [&](const Reached&) { return OpenFor(Scratch() / "new", O_CREAT | O_WRONLY); });
  SKIP_IF_NOT_REACHED(own);
  EXPECT_EQ(own, "done");
  for (const std::filesystem::path& path :
       {Allowed() / "file", Allowed() / "new", Elsewhere() / "file", Elsewhere() / "new",
        std::filesystem::path("/tmp/warpsmith-new"), std::filesystem::path("/warpsmith-new")}) {
    EXPECT_THAT(
        Run(Usual(), [&](const Reached&) { return OpenFor(path, O_CREAT | O_WRONLY | O_TRUNC); }),
        kRefused)
        << path;
  }
  EXPECT_FALSE(std::filesystem::exists(Elsewhere() / "new"));
  EXPECT_EQ(ReadFile(Allowed() / "file").value(), "secret");
}

// What Landlock does not look at.
TEST_P(LockedInTest, ChangesNoFileByItsNameOrByOpeningIt) {
  using Attempt = std::function<long(const char* file)>;
  const std::vector<Attempt> attempts = {
      [](const char* file) -> long { return truncate(file, 0); },
      [](const char* file) -> long { return open(file, O_RDONLY | O_TRUNC); },
      [](const char* file) -> long { return chmod(file, 0); },
      [](const char* file) -> long { return unlink(file); },
      [](const char* file) -> long { return rename(file, "/tmp/warpsmith-stolen"); },
      [](const char* file) -> long { return utimensat(AT_FDCWD, file, nullptr, 0); },
      [](const char* file) -> long { return fchmod(open(file, O_RDONLY), 0); },
  };
  for (size_t i = 0; i < attempts.size(); ++i) {
    const std::string file = Allowed() / "file";
    const std::string answer =
        Run(Usual(), [&](const Reached&) { return Outcome(attempts[i](file.c_str())); });
    SKIP_IF_NOT_REACHED(answer);
    EXPECT_THAT(answer, AnyOf(kRefused, "EXDEV")) << "attempt " << i;
    EXPECT_EQ(ReadFile(file).value(), "secret") << "attempt " << i;
  }
}

TEST_P(LockedInTest, HasNoNetworkAndNoSocketsOfOthers) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::ostringstream said;
    for (const int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET}) {
      said << Outcome(socket(family, SOCK_STREAM, 0)) << ' ';
    }
    said << Outcome(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) << ' ';
    const int unix_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un name{AF_UNIX, "/run/dbus/system_bus_socket"};
    said << Outcome(connect(unix_socket, reinterpret_cast<const sockaddr*>(&name), sizeof(name)));
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer,
            "EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT ECONNREFUSED");
}

TEST_P(LockedInTest, StartsNoProcess) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::ostringstream said;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    said << Outcome(child) << ' ' << Outcome(vfork()) << ' ';
    char program[] = "/bin/true";
    char* argv[] = {program, nullptr};
    pid_t spawned = 0;
    said << strerrorname_np(posix_spawn(&spawned, program, nullptr, nullptr, argv, nullptr)) << ' ';
    said << Outcome(execv(program, argv)) << ' ' << (std::system("true") != 0);
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "EPERM EPERM EPERM EPERM 1");
}

TEST_P(LockedInTest, CompilersStartProcessesButNotNamespaces) {
  Policy policy = Usual();
  policy.allow_processes = true;
  policy.executable = {"/bin", "/usr/bin"};
  const std::string answer = Run(policy, [&](const Reached&) {
    std::ostringstream said;
    said << std::system("exit 7") / 256 << ' ' << std::system("cat /etc/passwd 2>/dev/null") / 256;
    said << ' ' << Outcome(unshare(CLONE_NEWUSER)) << ' ';
    said << Outcome(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "7 1 EPERM EPERM");
}

TEST_P(LockedInTest, ForkBombEndsAtItsLimit) {
  Policy policy = Usual();
  policy.allow_processes = true;
  policy.limits.processes = 20;
  const std::string answer = Run(policy, [&](const Reached&) {
    std::vector<pid_t> children;
    std::string failure;
    while (children.size() < 200 && failure.empty()) {
      const pid_t child = fork();
      if (child == 0) {
        pause();
        _exit(0);
      }
      if (child < 0) failure = strerrorname_np(errno);
      if (child > 0) children.push_back(child);
    }
    for (const pid_t child : children) kill(child, SIGKILL);
    // Processes of the same user that have ended since the limit was set leave room for others.
    return failure + (children.size() < 100 ? "" : " after " + std::to_string(children.size()));
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "EAGAIN");
}

TEST_P(LockedInTest, TouchesNoOtherProcess) {
  const pid_t parent = getpid();
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::ostringstream said;
    said << Outcome(kill(parent, 0)) << ' ' << Outcome(kill(-1, 0)) << ' ';
    said << Outcome(syscall(SYS_tgkill, parent, parent, 0)) << ' ';
    said << Outcome(ptrace(PTRACE_ATTACH, parent, nullptr, nullptr)) << ' ';
    said << Outcome(syscall(SYS_pidfd_open, parent, 0)) << ' ';
    const rlimit none{0, 0};
    said << Outcome(prlimit(parent, RLIMIT_CPU, &none, nullptr)) << ' ';
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    said << Outcome(sched_setaffinity(parent, sizeof(first), &first)) << ' ';
    said << Outcome(setpriority(PRIO_PROCESS, static_cast<id_t>(parent), 19)) << ' ';
    const int owned = socket(AF_UNIX, SOCK_STREAM, 0);
    said << Outcome(fcntl(owned, F_SETOWN, parent));
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM");
}

TEST_P(LockedInTest, CannotBeTracedNorOutliveItsParent) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::ostringstream said;
    said << prctl(PR_GET_DUMPABLE) << ' ' << Outcome(prctl(PR_SET_DUMPABLE, 1)) << ' ';
    said << Outcome(prctl(PR_SET_PDEATHSIG, 0)) << ' ' << Outcome(setsid());
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "0 EPERM EPERM EPERM");
}

// libcuda does not start where it cannot name its threads.
TEST_P(LockedInTest, NamesItsThreadsWhereCudaRuns) {
  Policy policy = Usual();
  AllowGpu(&policy);
  const std::string answer = Run(policy, [&](const Reached&) {
    std::string said;
    std::thread([&said] {
      const std::string own = "/proc/self/task/" + std::to_string(gettid());
      said = OpenFor(own + "/comm", O_WRONLY | O_CREAT | O_TRUNC);
    }).join();
    return said;
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "done");
}

// What is taken from it by a change of identity must be there again.
TEST_P(LockedInTest, DiesWithItsParent) {
  const Case how = GetParam();
  const auto answer = TryInChild([&](int pipe_end) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Policy policy = Usual();
    policy.wanted = how.level;
    policy.descriptors = {pipe_end};
    if (how.user == User::kOrdinary && getuid() == 0) {
      if (setresuid(kOrdinaryId, kOrdinaryId, kOrdinaryId) != 0) return 0;
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten with the identity
    }
    if (!Enter(policy).ok()) return 1;
    int signal = 0;
    prctl(PR_GET_PDEATHSIG, &signal);
    return signal == SIGKILL ? 0 : 2;
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 0);
}

TEST_P(LockedInTest, IsNobodyWithoutCapabilities) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct held[2] = {};
    syscall(SYS_capget, &header, held);
    std::ostringstream said;
    said << (getuid() == 0 || geteuid() == 0 || getegid() == 0) << ' '
         << (held[0].effective | held[0].permitted | held[0].inheritable | held[1].permitted) << ' '
         << prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) << ' ' << prctl(PR_GET_SECCOMP) << ' '
         << Outcome(setuid(0)) << ' ' << getgroups(0, nullptr);
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_THAT(answer, testing::MatchesRegex("0 0 1 2 (EPERM|EINVAL) .*"));
}

TEST_P(LockedInTest, KernelsOwnDoorsAreShut) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::ostringstream said;
    for (const long call : {SYS_mount, SYS_unshare, SYS_setns, SYS_bpf, SYS_perf_event_open,
                            SYS_keyctl, SYS_io_uring_setup, SYS_userfaultfd, SYS_kexec_load,
                            SYS_init_module, SYS_clock_settime, SYS_chroot, SYS_personality}) {
      const std::string outcome = Outcome(syscall(call, 0, 0, 0, 0, 0));
      if (outcome != "EPERM") said << call << ": " << outcome << ' ';
    }
    if (const auto newer = Outcome(syscall(463, 0, 0, 0, 0)); newer != "ENOSYS") said << newer;
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "");
}

TEST_P(LockedInTest, FileSizeLimitHolds) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::signal(SIGXFSZ, SIG_IGN);
    const int file = open((Scratch() / "big").c_str(), O_CREAT | O_WRONLY, 0600);
    const std::string chunk(1 << 20, 'x');
    const ssize_t first = write(file, chunk.data(), chunk.size());
    return std::to_string(first) + " " + Outcome(write(file, chunk.data(), chunk.size()));
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "1048576 EFBIG");
}

TEST_P(LockedInTest, HiddenLibraryCannotBeOpened) {
  std::filesystem::create_directory(Allowed() / "lib");
  for (const char* name : {"libcublas.so.13.1", "libcudart.so.13"}) {
    ASSERT_TRUE(WriteFileAtomic(Allowed() / "lib" / name, "library").ok());
  }
  std::filesystem::create_symlink("libcublas.so.13.1", Allowed() / "lib/libcublas.so");
  std::filesystem::create_symlink("libcublas.so.13.1", Allowed() / "lib/another-name.so");
  const auto everything = std::filesystem::perms::all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Allowed())) {
    if (!entry.is_symlink()) std::filesystem::permissions(entry.path(), everything);
  }
  Policy policy = Usual();
  policy.hidden = FilesMatching(policy, {"libcublas*"});
  EXPECT_THAT(policy.hidden, testing::Contains(Allowed() / "lib/libcublas.so.13.1"));
  const std::string answer = Run(policy, [&](const Reached&) {
    std::string said;
    for (const char* name :
         {"libcublas.so.13.1", "libcublas.so", "another-name.so", "libcudart.so.13", "../file"}) {
      said += OpenFor(Allowed() / "lib" / name, O_RDONLY) + " ";
    }
    return said + OpenFor(Allowed() / "lib", O_RDONLY | O_DIRECTORY);
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "EACCES EACCES EACCES done done done");
}

TEST_P(LockedInTest, NewRootHoldsWhatIsNamedOnly) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::string seen;
    for (const char* path : {"/etc/passwd", "/home", "/root", "/usr/bin", "/var"}) {
      if (access(path, F_OK) == 0) seen += std::string(path) + " ";
    }
    return seen + (access((Allowed() / "file").c_str(), R_OK) == 0 ? "and the allowed file" : "");
  });
  SKIP_IF_NOT_REACHED(answer);
  if (GetParam().level == Level::kL2) {
    EXPECT_EQ(answer, "and the allowed file");
  }
}

TEST_P(LockedInTest, EnvironmentAndDescriptorsAreLeftOutside) {
  setenv("WARPSMITH_API_KEY", "very-secret", 1);
  setenv("SOME_TOKEN", "very-secret", 1);
  setenv("WARPSMITH_SETTING", "fine", 1);
  const int leaked = open("/etc/passwd", O_RDONLY);
  const std::string answer = Run(Usual(), [&](const Reached&) {
    std::ostringstream said;
    said << Outcome(fcntl(leaked, F_GETFD)) << ' ';
    for (const char* name : {"WARPSMITH_API_KEY", "SOME_TOKEN", "WARPSMITH_SETTING", "HOME"}) {
      const char* value = std::getenv(name);
      said << (value == nullptr ? "-" : value) << ' ';
    }
    char input = 0;
    said << read(STDIN_FILENO, &input, 1) << ' ' << OpenFor("/proc/self/environ", O_RDONLY);
    return said.str();
  });
  close(leaked);
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_THAT(answer, testing::StartsWith("EBADF - - fine /nonexistent 0 "));
  EXPECT_THAT(answer, AnyOf(HasSubstr("EACCES"), HasSubstr("ENOENT")));
}

std::string HonestWork(const std::filesystem::path& allowed) {
  std::string trouble;
  const auto expect = [&](bool good, const char* what) {
    if (!good) trouble += std::string(what) + ": " + std::strerror(errno) + "; ";
  };
  int sum = 0;
  std::thread([&] { sum = 42; }).join();
  expect(sum == 42, "thread");
  void* memory =
      mmap(nullptr, size_t{1} << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  expect(memory != MAP_FAILED, "reserving addresses");
  expect(mprotect(memory, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0, "mprotect");
  const int shared = memfd_create("shared", MFD_CLOEXEC);
  expect(shared >= 0 && ftruncate(shared, 4096) == 0, "memfd");
  expect(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0) != MAP_FAILED, "map");
  expect(OpenFor("/proc/self/fd/" + std::to_string(shared), O_RDONLY) == "done", "memfd by name");
  int pair[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
  expect(send(pair[0], "x", 1, 0) == 1, "send");
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un name{AF_UNIX, {0}};
  std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "warpsmith-test-%d", getpid());
  expect(bind(listening, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0, "bind");
  expect(listen(listening, 1) == 0, "listen");
  expect(ReadFile(allowed / "file").ok(), "reading");
  expect(OpenFor("/proc/self/maps", O_RDONLY) == "done", "/proc/self/maps");
  expect(OpenFor("/dev/null", O_RDWR) == "done", "/dev/null");
  expect(!std::filesystem::is_empty("/proc/self/task"), "/proc/self/task");
  expect(raise(0) == 0 && kill(getpid(), 0) == 0, "signals to itself");
  cpu_set_t here;
  expect(sched_getaffinity(0, sizeof(here), &here) == 0, "sched_getaffinity");
  expect(sched_setaffinity(0, sizeof(here), &here) == 0, "sched_setaffinity");
  return trouble;
}

TEST_P(LockedInTest, HonestWorkStillRuns) {
  Policy policy = Usual();
  AllowGpu(&policy);
  const std::string answer = Run(policy, [&](const Reached&) { return HonestWork(Allowed()); });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "");
}

TEST_P(LockedInTest, SaysNothingIsAbsentWhereNothingIs) {
  const std::string answer = Run(Usual(), [](const Reached& reached) { return Describe(reached); });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, Name(GetParam().level));
}

TEST(SandboxTest, RootStaysRootAndSaysSoWhereNobodyElseCouldRead) {
  if (getuid() != 0) GTEST_SKIP() << "not root here";
  const auto closed = TemporaryDirectory::Create("warpsmith-sandbox-test");  // mode 0700
  ASSERT_TRUE(closed.ok());
  ASSERT_TRUE(WriteFileAtomic(closed->path() / "file", "x").ok());
  Policy policy;
  AllowLibraries(&policy);
  policy.readable.push_back(closed->path() / "file");
  const auto enter = [&](Level wanted) {
    policy.wanted = wanted;
    return TryInChild([&](int pipe_end) {
      Policy mine = policy;
      mine.descriptors = {pipe_end};
      const auto reached = Enter(mine);
      if (!reached.ok()) return 1;
      const bool can_read = ReadFile(closed->path() / "file").ok();
      WriteText(pipe_end, Describe(*reached) + (can_read ? "; reads" : "; does not read"));
      return 0;
    });
  };
  const std::string l1 = enter(Level::kL1)->text;
  if (l1.find("becoming user") != std::string::npos) GTEST_SKIP() << l1;
  EXPECT_THAT(l1, testing::AllOf(testing::StartsWith("L0; not in force: L1: still root"),
                                 HasSubstr(closed->path().string()), testing::EndsWith("; reads")));
  // Where root can make a new root folder, the way to the file is open to all.
  EXPECT_THAT(enter(Level::kL2)->text, testing::EndsWith("; reads"));
}

TEST(SandboxTest, SecondThreadIsRefused) {
  const auto answer = TryInChild([](int pipe_end) {
    std::thread([] { pause(); }).detach();
    Policy policy;
    policy.descriptors = {pipe_end};
    const auto reached = Enter(policy);
    WriteText(pipe_end, reached.ok() ? "entered" : reached.error().message);
    return 0;
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(answer->text, HasSubstr("one thread"));
}

TEST(SandboxTest, WantingNothingChangesNothing) {
  Policy policy;
  policy.wanted = Level::kNone;
  const auto reached = Enter(policy);
  ASSERT_TRUE(reached.ok());
  EXPECT_EQ(reached->level, Level::kNone);
  EXPECT_EQ(prctl(PR_GET_SECCOMP), 0);
}

TEST(SandboxTest, ProbeLeavesUsAsWeAreAndIsTrue) {
  const auto probed = Probe();
  ASSERT_TRUE(probed.ok()) << probed.error().Line();
  EXPECT_EQ(prctl(PR_GET_SECCOMP), 0);
  EXPECT_EQ(probed->absent.empty(), probed->level == Level::kL2) << Describe(*probed);
}

}  // namespace
}  // namespace warpsmith::sandbox
