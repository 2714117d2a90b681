#include "sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/spawn.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

// The numbers and layouts are the kernel's. Its header is not used: a distribution's is often older
// than the kernel that runs there.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kGiveVersion = 1;
constexpr int kPathBeneath = 1;

struct RulesetAttributes {
  uint64_t files = 0, tcp = 0, scopes = 0;
};
struct [[gnu::packed]] PathBeneath {
  uint64_t access;
  int32_t folder;
};

enum FileRight : uint64_t {
  kRightExecute = 1U << 0,
  kRightWriteFile = 1U << 1,
  kRightReadFile = 1U << 2,
  kRightReadFolder = 1U << 3,
  kRightRemoveFolder = 1U << 4,
  kRightRemoveFile = 1U << 5,
  kRightMakeDevice = 1U << 6,  // a character device
  kRightMakeFolder = 1U << 7,
  kRightMakeFile = 1U << 8,
  kRightMakeSocket = 1U << 9,
  kRightMakeFifo = 1U << 10,
  kRightMakeBlock = 1U << 11,
  kRightMakeLink = 1U << 12,
  kRightRefer = 1U << 13,     // from ABI 2
  kRightTruncate = 1U << 14,  // from ABI 3
  kRightIoctl = 1U << 15,     // from ABI 5
};

constexpr uint64_t kRightsOfAFile =
    kRightExecute | kRightWriteFile | kRightReadFile | kRightTruncate | kRightIoctl;
constexpr uint64_t kTcp = 0b11;     // bind, connect
constexpr uint64_t kScopes = 0b11;  // abstract unix sockets, signals

uint64_t KnownRights(int abi) {
  uint64_t rights = kRightRefer - 1;
  if (abi >= 2) rights |= kRightRefer;
  if (abi >= 3) rights |= kRightTruncate;
  if (abi >= 5) rights |= kRightIoctl;
  return rights;
}

uint64_t RightsOf(Access access) {
  constexpr uint64_t read = kRightReadFile | kRightReadFolder;
  switch (access) {
    case Access::kList:
      return kRightReadFolder;
    case Access::kRead:
      return read;
    case Access::kExecute:
      return read | kRightExecute;
    case Access::kWrite:
      return read | kRightWriteFile | kRightTruncate | kRightRefer | kRightRemoveFile |
             kRightRemoveFolder | kRightMakeFile | kRightMakeFolder | kRightMakeLink |
             kRightMakeFifo;
    case Access::kDevice:
      return kRightReadFile | kRightWriteFile | kRightTruncate | kRightIoctl;
  }
  return 0;
}

Status AddRule(int ruleset, const PathRule& rule, uint64_t known) {
  const FileDescriptor path(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat about {};
  if (path.number() < 0 || fstat(path.number(), &about) != 0) return {};
  PathBeneath beneath{RightsOf(rule.access) & known, path.number()};
  if (!S_ISDIR(about.st_mode)) beneath.access &= kRightsOfAFile;
  if (beneath.access == 0) return {};
  if (syscall(kAddRule, ruleset, kPathBeneath, &beneath, 0) != 0) {
    return Failed("Landlock rule for " + rule.path.string());
  }
  return {};
}

}  // namespace

int LandlockAbi() {
  const long abi = syscall(kCreateRuleset, nullptr, 0, kGiveVersion);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Status RestrictFiles(const std::vector<PathRule>& rules, bool network) {
  const int abi = LandlockAbi();
  if (abi == 0) {
    return Error{ErrorCode::kUnavailable, "Landlock is not in this kernel or is switched off",
                 "use Linux 5.13 or newer with landlock among the lsm= of its command line"};
  }
  RulesetAttributes attributes;
  attributes.files = KnownRights(abi);
  if (abi >= kAbiOfTcp && !network) attributes.tcp = kTcp;
  if (abi >= kAbiOfSignals) attributes.scopes = kScopes;
  const size_t bytes = abi >= kAbiOfSignals ? sizeof(attributes)
                       : abi >= kAbiOfTcp   ? 2 * sizeof(uint64_t)
                                            : sizeof(uint64_t);
  const FileDescriptor ruleset(static_cast<int>(syscall(kCreateRuleset, &attributes, bytes, 0)));
  if (ruleset.number() < 0) return Failed("Landlock ruleset");
  for (const PathRule& rule : rules) TRY(AddRule(ruleset.number(), rule, attributes.files));
  if (syscall(kRestrictSelf, ruleset.number(), 0) != 0) return Failed("Landlock");
  return {};
}

}  // namespace warpsmith::sandbox
