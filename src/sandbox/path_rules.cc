#include "sandbox/path_rules.h"

#include <algorithm>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/spawn.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHarmlessNodes[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
// Started by the kernel with every program.
constexpr const char* kLoaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

void Append(const std::vector<fs::path>& paths, Access access, std::vector<PathRule>* rules) {
  for (const fs::path& path : paths) {
    std::error_code absent;
    if (path.is_absolute() && fs::exists(path, absent)) {
      rules->push_back({path.lexically_normal(), access});
    }
  }
}

bool Matches(const fs::path& file, const std::string& pattern) {
  const bool whole = pattern.find('/') != std::string::npos;
  return fnmatch(pattern.c_str(), (whole ? file : file.filename()).c_str(), 0) == 0;
}

bool MatchesAny(const fs::path& file, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return Matches(file, pattern); });
}

fs::path Resolved(const fs::path& path) {
  std::error_code failed;
  fs::path resolved = fs::canonical(path, failed);
  return failed ? path : resolved;
}

void FindMatching(const fs::path& root, const std::vector<std::string>& patterns,
                  std::set<fs::path>* found) {
  std::error_code failed;
  if (!fs::is_directory(root, failed)) {
    if (MatchesAny(root, patterns)) found->insert(root);
    return;
  }
  fs::recursive_directory_iterator entries(root, fs::directory_options::skip_permission_denied,
                                           failed);
  for (; !failed && entries != fs::recursive_directory_iterator(); entries.increment(failed)) {
    std::error_code ignored;
    // A link grants nothing itself; what it points to is found where it lies.
    if (entries->is_symlink(ignored) || entries->is_directory(ignored)) continue;
    if (MatchesAny(entries->path(), patterns)) found->insert(entries->path());
  }
}

// What the rules name, without links; devices hold no files.
std::vector<fs::path> RootsOf(const std::vector<PathRule>& rules) {
  std::vector<fs::path> roots;
  for (const PathRule& rule : rules) {
    if (rule.access != Access::kDevice) roots.push_back(Resolved(rule.path));
  }
  return roots;
}

bool LiesUnder(const fs::path& root, const fs::path& file) {
  return std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end();
}

class Splitter {
 public:
  explicit Splitter(const std::vector<fs::path>& hidden_files)
      : hidden_(hidden_files.begin(), hidden_files.end()) {
    for (const fs::path& file : hidden_files) {
      for (fs::path folder = file.parent_path(); folders_.insert(folder).second;) {
        folder = folder.parent_path();
      }
    }
  }

  void Add(const PathRule& rule) {
    if (hidden_.contains(rule.path)) return;
    if (!folders_.contains(rule.path)) {
      rules.push_back(rule);
      return;
    }
    rules.push_back({rule.path, Access::kList});
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(rule.path, failed)) {
      std::error_code ignored;
      if (!entry.is_symlink(ignored)) Add({entry.path(), rule.access});
    }
  }

  std::vector<PathRule> rules;

 private:
  std::set<fs::path> hidden_, folders_;
};

}  // namespace

std::vector<PathRule> NamedPaths(const Policy& policy) {
  std::vector<PathRule> rules;
  Append(policy.readable, Access::kRead, &rules);
  Append(policy.executable, Access::kExecute, &rules);
  if (policy.allow_processes) {
    Append({std::begin(kLoaders), std::end(kLoaders)}, Access::kExecute, &rules);
  }
  Append(policy.writable, Access::kWrite, &rules);
  Append(policy.devices, Access::kDevice, &rules);
  Append({std::begin(kHarmlessNodes), std::end(kHarmlessNodes)}, Access::kDevice, &rules);
  std::stable_sort(rules.begin(), rules.end(),
                   [](const PathRule& a, const PathRule& b) { return a.path < b.path; });
  return rules;
}

std::vector<fs::path> FilesMatching(const std::vector<PathRule>& rules,
                                    const std::vector<std::string>& patterns) {
  std::set<fs::path> found;
  if (patterns.empty()) return {};
  for (const fs::path& root : RootsOf(rules)) FindMatching(root, patterns, &found);
  return {found.begin(), found.end()};
}

std::vector<fs::path> FilesUnder(const std::vector<PathRule>& rules,
                                 const std::vector<fs::path>& files) {
  const std::vector<fs::path> roots = RootsOf(rules);
  std::set<fs::path> found;
  for (const fs::path& file : files) {
    std::error_code absent;
    const bool is_file = fs::canonical(file, absent) == file && !fs::is_directory(file, absent);
    const auto holds = [&](const fs::path& root) { return LiesUnder(root, file); };
    if (is_file && !absent && std::any_of(roots.begin(), roots.end(), holds)) found.insert(file);
  }
  return {found.begin(), found.end()};
}

std::vector<fs::path> FilesMatching(const Policy& policy,
                                    const std::vector<std::string>& patterns) {
  return FilesMatching(NamedPaths(policy), patterns);
}

std::vector<PathRule> WithoutHidden(const std::vector<PathRule>& rules,
                                    const std::vector<fs::path>& hidden_files) {
  Splitter splitter(hidden_files);
  for (const PathRule& rule : rules) splitter.Add({Resolved(rule.path), rule.access});
  return std::move(splitter.rules);
}

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
