// Bodies that run locked in, in a child, and say what they found.
#ifndef WARPSMITH_SANDBOX_TESTS_LOCKED_IN_H_
#define WARPSMITH_SANDBOX_TESTS_LOCKED_IN_H_

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/file.h"
#include "sandbox/sandbox.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {

// "EPERM"-like, or "done" where the call went well.
inline std::string Outcome(long returned) { return returned < 0 ? strerrorname_np(errno) : "done"; }

enum class User : uint8_t { kRoot, kOrdinary };
constexpr uid_t kOrdinaryId = 12345;

struct Case {
  User user;
  Level level;
};
inline std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.user == User::kRoot ? "Root" : "User") +
         std::string(Name(info.param.level));
}

// Enters as the case says and runs `body`; what it returns is the answer. "skip: <why>" where this
// machine does not reach the level.
inline std::string LockedIn(const Case& how, Policy policy,
                            const std::function<std::string(const Reached&)>& body) {
  policy.wanted = how.level;
  const auto answer = TryInChild([&](int pipe_end) {
    if (how.user == User::kOrdinary && getuid() == 0 &&
        (setresgid(kOrdinaryId, kOrdinaryId, kOrdinaryId) != 0 ||
         setresuid(kOrdinaryId, kOrdinaryId, kOrdinaryId) != 0)) {
      WriteText(pipe_end, std::string("skip: becoming an ordinary user: ") + std::strerror(errno));
      return 0;
    }
    policy.descriptors.push_back(pipe_end);
    const auto reached = Enter(policy);
    std::string said;
    if (!reached.ok()) {
      said = "error: " + reached.error().Line();
    } else if (reached->level != how.level) {
      said = "skip: " + Describe(*reached);
    } else {
      said = body(*reached);
    }
    return WriteText(pipe_end, said) ? 0 : 1;
  });
  if (!answer.ok()) return answer.error().Line();
  return answer->status == 0 ? answer->text : "error: it could not answer";
}

#define SKIP_IF_NOT_REACHED(answer) \
  if ((answer).starts_with("skip: ")) GTEST_SKIP() << (answer)

// For every level as root, who gives it up, and as an ordinary user.
class LockedInTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().user == User::kRoot && getuid() != 0) GTEST_SKIP() << "not root here";
    auto folder = TemporaryDirectory::Create("warpsmith-sandbox-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(folder).value());
    for (const char* name : {"allowed", "elsewhere", "scratch"}) {
      ASSERT_EQ(mkdir((Folder() / name).c_str(), 0777), 0);
      ASSERT_TRUE(WriteFileAtomic(Folder() / name / "file", "secret").ok());
    }
    // As other users must be able to come here.
    const auto everything = std::filesystem::perms::all;
    std::filesystem::permissions(Folder(), everything);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Folder())) {
      std::filesystem::permissions(entry.path(), everything);
    }
  }

  std::filesystem::path Folder() const { return folder_->path(); }
  std::filesystem::path Allowed() const { return Folder() / "allowed"; }
  std::filesystem::path Elsewhere() const { return Folder() / "elsewhere"; }
  std::filesystem::path Scratch() const { return Folder() / "scratch"; }

  Policy Usual() const {
    Policy policy;
    AllowLibraries(&policy);
    policy.readable.push_back(Allowed());
    policy.writable.push_back(Scratch());
    policy.limits.file_bytes = 1 << 20;
    policy.limits.processes = 64;
    return policy;
  }

  std::string Run(const Policy& policy,
                  const std::function<std::string(const Reached&)>& body) const {
    return LockedIn(GetParam(), policy, body);
  }

  std::optional<TemporaryDirectory> folder_;
};

inline const auto kEveryCase =
    testing::Values(Case{User::kRoot, Level::kL1}, Case{User::kRoot, Level::kL2},
                    Case{User::kOrdinary, Level::kL1}, Case{User::kOrdinary, Level::kL2});

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_TESTS_LOCKED_IN_H_
