#include "base/subprocess.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/tests/survivor.h"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Result<ProcessOutcome> Shell(const std::string& script, ProcessLimits limits = {},
                             const std::vector<std::string>& environment = {}) {
  return RunProcess({"sh", "-c", script}, limits, environment);
}

bool Exists(pid_t pid) { return kill(pid, 0) == 0; }

// Processes whose parent died are reaped by init in its own time.
bool Vanishes(pid_t pid) {
  const double deadline_s = MonotonicSeconds() + 10;
  while (Exists(pid)) {
    const auto status = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    if (status.ok() && status->find(") Z ") != std::string::npos) return true;
    if (MonotonicSeconds() > deadline_s) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(RunProcess, GivesOutputAndStatus) {
  const auto outcome = Shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(outcome->output, "out\nerr\n");
  EXPECT_EQ(outcome->exit_status, 3);
  EXPECT_EQ(outcome->signal, 0);
  EXPECT_FALSE(outcome->timed_out);
}

TEST(RunProcess, SaysWhichSignal) { EXPECT_EQ(Shell("kill -SEGV $$")->signal, SIGSEGV); }

TEST(RunProcess, AddsToTheEnvironment) {
  setenv("WARPSMITH_TEST_ONE", "old", 1);
  const auto outcome = Shell("echo $WARPSMITH_TEST_ONE $WARPSMITH_TEST_TWO; test -n \"$PATH\"", {},
                             {"WARPSMITH_TEST_ONE=new", "WARPSMITH_TEST_TWO=two"});
  EXPECT_EQ(outcome->output, "new two\n");
  EXPECT_EQ(outcome->exit_status, 0);
}

TEST(RunProcess, StandardInputIsEmpty) { EXPECT_EQ(Shell("cat; echo end")->output, "end\n"); }

TEST(RunProcess, AbsentProgramIsUnavailable) {
  for (const char* program : {"no-such-program-at-all", "/no/such/program", "/etc/passwd"}) {
    const auto outcome = RunProcess({program}, {});
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(outcome.error().message, HasSubstr(program));
  }
}

TEST(RunProcess, KillsTheWholeGroupAtTheLimit) {
  const double start_s = MonotonicSeconds();
  const auto outcome = Shell("sleep 100 & echo $!; sleep 100", {.wall = milliseconds(300)});
  EXPECT_TRUE(outcome->timed_out);
  EXPECT_LT(MonotonicSeconds() - start_s, 20);
  EXPECT_TRUE(Vanishes(std::stoi(outcome->output)));
}

TEST(RunProcess, KillsWhatTheLeaderLeftBehind) {
  const double start_s = MonotonicSeconds();
  const auto outcome = Shell("sleep 100 & echo $!");  // the child holds the pipe open
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_LT(MonotonicSeconds() - start_s, 20);
  EXPECT_TRUE(Vanishes(std::stoi(outcome->output)));
}

TEST(RunProcess, CutsOutputAndSaysSo) {
  const auto outcome = Shell("yes | head -c 1000000; echo end", {.output_bytes = 1000});
  EXPECT_EQ(outcome->output.size(), 1000U);
  EXPECT_TRUE(outcome->output_cut);
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_FALSE(Shell("head -c 1000 /dev/zero", {.output_bytes = 1000})->output_cut);
}

TEST(RunProcess, HoldsToItsLimits) {
  const auto folder = TemporaryDirectory::Create("warpsmith-limits-");
  const std::string file = (folder->path() / "large").string();
  EXPECT_EQ(Shell("exec head -c 100000 /dev/zero > " + file, {.file_bytes = 4096})->signal,
            SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(file), 4096U);
  EXPECT_EQ(Shell("ulimit -v; ulimit -c", {.address_space_bytes = int64_t{1} << 30})->output,
            "1048576\n0\n");
}

TEST(RunProcess, InheritsNothingButStdio) {
  const int leaked = fcntl(STDERR_FILENO, F_DUPFD, 50);  // not close-on-exec
  const auto outcome = Shell("cd /proc/self/fd && echo *");
  close(leaked);
  // 3: the folder that the shell reads.
  EXPECT_THAT(outcome->output, ::testing::AnyOf("0 1 2\n", "0 1 2 3\n"));
}

TEST(RunProcess, CannotGainPrivilegesAndHasItsOwnGroup) {
  EXPECT_THAT(Shell("grep NoNewPrivs /proc/self/status")->output, HasSubstr("1"));
  EXPECT_EQ(Shell("test $$ = $(ps -o pgid= -p $$ | tr -d ' ')")->exit_status, 0);
}

TEST(RunProcess, WorksFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 5; ++i) {
        const std::string word = std::to_string(thread * 100 + i);
        EXPECT_EQ(Shell("echo " + word)->output, word + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Sends back every byte that comes.
Result<ChildProcess> StartEcho() {
  return ChildProcess::Start({"sh", "-c", "exec cat <&3 >&3", "echo"}, {});
}

TEST(ChildProcess, TalksOverItsSocket) {
  auto child = StartEcho();
  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(child->Running());
  for (const char* text : {"{\"one\":1}", "{\"two\":2}"}) {
    ASSERT_TRUE(SendFrame(child->socket(), text, "payload").ok());
    const auto frame = ReceiveFrame(child->socket(), milliseconds(10'000));
    EXPECT_EQ(frame->header, text);
    EXPECT_EQ(frame->payload, "payload");
  }
  child->Kill();
  EXPECT_FALSE(child->Running());
  child->Kill();
  EXPECT_EQ(ReceiveFrame(child->socket(), milliseconds(10'000)).error().code, ErrorCode::kIo);
}

TEST(ChildProcess, PassesTheSocketNumberLast) {
  auto child = ChildProcess::Start({"sh", "-c", "echo got $1 >&3", "name"}, {});
  std::string text(6, '\0');
  ASSERT_EQ(recv(child->socket(), text.data(), text.size(), MSG_WAITALL), 6);
  EXPECT_EQ(text, "got 3\n");
}

TEST(ChildProcess, InheritsNothingButItsSocketAndGainsNoPrivileges) {
  const int leaked = fcntl(STDERR_FILENO, F_DUPFD, 50);  // not close-on-exec
  const std::string script = "{ grep NoNewPrivs /proc/self/status; test -e /proc/$$/fd/" +
                             std::to_string(leaked) + " && echo leaked; echo end; } >&3";
  auto child = ChildProcess::Start({"sh", "-c", script}, {});
  close(leaked);
  const std::string expected = "NoNewPrivs:\t1\nend\n";
  std::string text(expected.size(), '\0');
  ASSERT_EQ(recv(child->socket(), text.data(), text.size(), MSG_WAITALL),
            static_cast<ssize_t>(expected.size()));
  EXPECT_EQ(text, expected);
}

TEST(ChildProcess, DiesWithItsGroupOnDestruction) {
  pid_t leader = 0;
  std::string digits(32, '\0');
  {
    auto child = ChildProcess::Start({"sh", "-c", "sleep 100 & echo $! >&3; wait"}, {});
    leader = child->pid();
    ASSERT_GT(recv(child->socket(), digits.data(), digits.size(), 0), 0);
  }
  EXPECT_FALSE(Exists(leader));
  EXPECT_TRUE(Vanishes(std::stoi(digits)));
}

TEST(ChildProcess, OutlivesTheThreadThatStartedIt) {
  std::optional<ChildProcess> child;
  std::thread([&] { child.emplace(StartEcho().value()); }).join();
  ASSERT_TRUE(SendFrame(child->socket(), "still there").ok());
  EXPECT_EQ(ReceiveFrame(child->socket(), milliseconds(10'000))->header, "still there");
}

TEST(ChildProcess, MovesAndReplaces) {
  ChildProcess first = StartEcho().value();
  const pid_t first_pid = first.pid();
  first = StartEcho().value();
  EXPECT_FALSE(Exists(first_pid));
  EXPECT_TRUE(first.Running());
}

TEST(ChildProcess, DiesWithUs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    auto child = ChildProcess::Start({"sleep", "100"}, {});
    const pid_t pid = child.ok() ? child->pid() : -1;
    [[maybe_unused]] const ssize_t written = write(ends[1], &pid, sizeof(pid));
    raise(SIGKILL);
  }
  pid_t grandchild = -1;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof(grandchild)), static_cast<ssize_t>(sizeof(pid_t)));
  waitpid(parent, nullptr, 0);
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(Vanishes(grandchild));
  close(ends[0]);
  close(ends[1]);
}

using std::chrono::milliseconds;

TEST(KillAndReap, SaysHowItEnded) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  EXPECT_FALSE(HasExited(child));
  const std::optional<int> status = KillAndReap(child);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL);
  EXPECT_EQ(kill(child, 0), -1) << "it was reaped";
  EXPECT_TRUE(Survivors().empty());
}

TEST(KillAndReap, TellsOfTheOneThatDoesNotDieUntilItHas) {
  Survivor stuck;
  if (!stuck.is_traced()) GTEST_SKIP() << "tracing is forbidden here";
  EXPECT_FALSE(KillAndReap(stuck.pid(), milliseconds(30)).has_value());
  EXPECT_EQ(Survivors(), std::vector<pid_t>{stuck.pid()});
  stuck.LetGo();
  const double deadline_s = MonotonicSeconds() + 10;
  while (!Survivors().empty() && MonotonicSeconds() < deadline_s) std::this_thread::yield();
  EXPECT_TRUE(Survivors().empty());
  EXPECT_EQ(kill(stuck.pid(), 0), -1) << "it was reaped";
}

}  // namespace

}  // namespace warpsmith
