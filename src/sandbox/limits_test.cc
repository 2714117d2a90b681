// What a process that is locked in can take from the machine and from its user's other processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "sandbox/tests/locked_in.h"

namespace warpsmith::sandbox {
namespace {

class LimitsTest : public LockedInTest {};
INSTANTIATE_TEST_SUITE_P(Sandbox, LimitsTest, kEveryCase, NameOf);

// With the number 0 a group or a user is the caller's own, and all its processes with it.
TEST_P(LimitsTest, SetsThePriorityOfNoGroupAndNoUser) {
  const std::string answer = Run(Usual(), [&](const Reached&) {
    constexpr long kOfProcess = 1, kOfGroup = 2, kOfUser = 3, kIdleClass = 3 << 13;
    std::ostringstream said;
    said << Outcome(setpriority(PRIO_USER, 0, 19)) << ' ' << Outcome(setpriority(PRIO_PGRP, 0, 19));
    said << ' ' << Outcome(syscall(SYS_ioprio_set, kOfUser, 0, kIdleClass));
    said << ' ' << Outcome(syscall(SYS_ioprio_set, kOfGroup, 0, kIdleClass));
    said << ' ' << Outcome(setpriority(PRIO_PROCESS, 0, 19));
    said << ' ' << Outcome(syscall(SYS_ioprio_set, kOfProcess, 0, kIdleClass));
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "EPERM EPERM EPERM EPERM done done");
}

TEST_P(LimitsTest, DiesFirstWhateverItWrites) {
  Policy policy = Usual();
  AllowGpu(&policy);
  const std::string answer = Run(policy, [&](const Reached&) {
    std::string own;
    std::ifstream("/proc/self/oom_score_adj") >> own;
    for (const std::string& folder :
         {std::string("/proc/self"), "/proc/self/task/" + std::to_string(gettid()),
          std::string("/proc/thread-self")}) {
      const int file = open((folder + "/oom_score_adj").c_str(), O_WRONLY);
      if (file >= 0) own += " " + Outcome(write(file, "0", 1));
    }
    std::string after;
    std::ifstream("/proc/self/oom_score_adj") >> after;
    return own + " " + after;
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "1000 1000");
}

TEST_P(LimitsTest, ThreadsFilesAndMemoryEndAtTheirLimits) {
  Policy policy = Usual();
  policy.limits.processes = 50;
  policy.limits.open_files = 64;
  policy.limits.data_bytes = int64_t{256} << 20;
  const std::string answer = Run(policy, [&](const Reached&) {
    std::signal(SIGXFSZ, SIG_IGN);
    std::ostringstream said;
    int descriptors = 0;
    while (descriptors < 1000 && dup(0) >= 0) ++descriptors;
    said << (descriptors < 64) << ' ';
    close(10);
    const int shared = memfd_create("shared", 0);
    said << Outcome(ftruncate(shared, 2 << 20)) << ' ';
    void* const memory = mmap(nullptr, size_t{512} << 20, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    said << (memory == MAP_FAILED ? strerrorname_np(errno) : "done") << ' ';
    int threads = 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_t thread;
    const auto wait = [](void*) -> void* {
      pause();
      return nullptr;
    };
    while (threads < 1000 && pthread_create(&thread, &small, wait, nullptr) == 0) ++threads;
    // Threads of the same user that have ended since the limit was set leave room for others.
    said << (threads < 500);
    return said.str();
  });
  SKIP_IF_NOT_REACHED(answer);
  EXPECT_EQ(answer, "1 EFBIG ENOMEM 1");
}

}  // namespace
}  // namespace warpsmith::sandbox
