#include "agent/split/confined.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace warpsmith::split {
namespace {

namespace fs = std::filesystem;

class ConfinedTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto reached = sandbox::Probe();
    ASSERT_TRUE(reached.ok()) << reached.error().Line();
    if (reached->level == sandbox::Level::kNone) GTEST_SKIP() << "no sandbox here";
    ASSERT_TRUE(CreateDirectories(At("ours") / kScratch).ok());
    ASSERT_TRUE(WriteFileAtomic(At("ours/told"), "told\n").ok());
    ASSERT_TRUE(WriteFileAtomic(At("kept"), "kept\n").ok());
    ASSERT_TRUE(sandbox::GiveToUnprivileged(folder_.path()).ok());
  }
  fs::path At(const std::string& name) const { return folder_.path() / name; }

  // What a shell says that a confined process becomes.
  std::string Say(const std::string& script) const {
    const fs::path said = At("said");
    const int file = open(said.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    const pid_t child = fork();
    if (child == 0) {
      dup2(file, 1);
      dup2(file, 2);
      _exit(ConfinedMain({At("ours").string(), "--", "/bin/sh", "-c", script, "1"}));
    }
    close(file);
    int status = 0;
    waitpid(child, &status, 0);
    return ReadFile(said).value();
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create("confined").value();
};

TEST_F(ConfinedTest, ReadsWhatItIsGivenAndIsToldWhereItIs) {
  EXPECT_EQ(Say("read -r x <told && echo $x"), "told\n");
  EXPECT_EQ(Say("echo $WARPSMITH_CONFINED").substr(0, 2),
            sandbox::Name(sandbox::Probe().value().level));
}

TEST_F(ConfinedTest, ReadsNothingElseAndWritesInItsScratchOnly) {
  EXPECT_EQ(Say("echo x >scratch/x && echo yes"), "yes\n");
  EXPECT_EQ(Say("(read -r x <" + At("kept").string() + ") 2>&- || echo no"), "no\n");
  EXPECT_EQ(Say("(read -r x </etc/passwd) 2>&- || echo no"), "no\n");
  for (const fs::path& path : {At("ours/told"), At("ours/new"), At("new"), fs::path("/tmp/new")}) {
    EXPECT_EQ(Say("(echo x >" + path.string() + ") 2>&- || echo no"), "no\n") << path;
  }
}

TEST_F(ConfinedTest, SeesNoSecretsAndNoNetwork) {
  setenv("WARPSMITH_TEST_API_KEY", "secret", 1);
  setenv("OPENAI_API_KEY", "secret", 1);
  EXPECT_EQ(Say("echo \"$WARPSMITH_TEST_API_KEY$OPENAI_API_KEY.\""), ".\n");
  if (!fs::exists("/bin/bash")) return;
  // Nothing listens there; but a socket is not even made.
  const std::string said = Say("exec /bin/bash -c 'echo </dev/tcp/127.0.0.1/9'");
  EXPECT_EQ(said.find("refused"), said.npos) << said;
  EXPECT_NE(said.find("socket: "), said.npos) << said;
}

TEST(ConfinedMain, SaysHowItIsUsed) {
  EXPECT_EQ(ConfinedMain({}), 2);
  EXPECT_EQ(ConfinedMain({"--", "sh", "1"}), 2);
  EXPECT_EQ(ConfinedMain({"/tmp", "--", "sh"}), 2);
}

}  // namespace
}  // namespace warpsmith::split
