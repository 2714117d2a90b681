#include "judge/standalone/confined.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/file.h"
#include "sandbox/sandbox.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

class ConfinedTest : public testing::Test {
 protected:
  // What `command` says, which ConfinedMain becomes.
  std::string Say(const std::vector<std::string>& command) {
    const fs::path said = folder_.path() / "said";
    std::vector<std::string> arguments = {run_.string(), run_.string(), "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const pid_t child = fork();
    if (child == 0) {
      const int file = open(said.c_str(), O_CREAT | O_WRONLY, 0644);
      dup2(file, 1);
      dup2(file, 2);
      _exit(ConfinedMain(arguments));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return *ReadFile(said);
  }

  void SetUp() override {
    const auto reached = sandbox::Probe();
    ASSERT_TRUE(reached.ok()) << reached.error().Line();
    if (reached->level == sandbox::Level::kNone) GTEST_SKIP() << "no sandbox here";
    ASSERT_TRUE(CreateDirectories(run_).ok());
    ASSERT_TRUE(sandbox::GiveToUnprivileged(folder_.path()).ok());
  }

  const TemporaryDirectory folder_ = std::move(TemporaryDirectory::Create("confined")).value();
  const fs::path run_ = folder_.path() / "run";
};

// libcuda does that, and does not start without: in the run and in what a sanitizer starts.
TEST_F(ConfinedTest, EveryProcessNamesItsThreadsAndReadsItsMappings) {
  constexpr const char* kTry = "echo name >/proc/$$/task/$$/comm && read -r line </proc/$$/maps";
  const std::string nested = std::string("(exec /bin/sh -c '") + kTry + "') && echo both";
  for (const std::string& text : {std::string(kTry) + " && echo both", nested}) {
    EXPECT_EQ(Say({"/bin/sh", "-c", text}), "both\n") << text;
  }
}

TEST_F(ConfinedTest, OthersAreOutOfReach) {
  const std::string other = std::to_string(getpid());
  EXPECT_EQ(Say({"/bin/sh", "-c", "(read -r x </proc/" + other + "/environ) 2>&- || echo kept"}),
            "kept\n");
}

}  // namespace
}  // namespace warpsmith::standalone
