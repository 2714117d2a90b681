#include "sandbox/sandbox.h"

#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <utility>

#include "sandbox/failure.h"
#include "sandbox/isolation.h"
#include "sandbox/landlock.h"
#include "sandbox/path_rules.h"
#include "sandbox/privileges.h"
#include "sandbox/surroundings.h"
#include "sandbox/syscall_filter.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

// What `attempt` fails with, found out in a child; nothing when it goes well.
std::optional<std::string> FailureInChild(const std::function<Status()>& attempt) {
  const auto answer = TryInChild([&](int mouth) {
    const Status tried = attempt();
    if (!tried.ok()) Say(mouth, tried.error().message);
    return tried.ok() ? 0 : 1;
  });
  if (!answer.ok()) return answer.error().message;
  if (answer->status == 0) return std::nullopt;
  return answer->text;
}

// The way in, from being who we are to being nobody, with or without namespaces in between.
class Entrance {
 public:
  explicit Entrance(const Policy& policy) : wanted_(policy.wanted) {
    isolation_.rules = NamedPaths(policy);
    isolation_.hidden_files = HiddenFiles(isolation_.rules, policy.hidden);
    isolation_.network = policy.network;
    visible_ = WithoutHidden(isolation_.rules, isolation_.hidden_files);
  }

  Status Pass() {
    if (wanted_ == Level::kL2) ChooseMeans();
    return Walk(means_, &identity_);
  }

  bool counted_apart() const { return means_ == Means::kUserNamespace; }
  bool isolated() const { return means_.has_value(); }
  const Identity& identity() const { return identity_; }
  const std::vector<PathRule>& visible() const { return visible_; }
  std::vector<std::string> absent;

 private:
  // Root goes through its own door, as only then folders of root's own can be shown to nobody.
  Status Walk(const std::optional<Means>& means, Identity* identity) const {
    if (means == Means::kRoot) TRY(Isolate(isolation_, *means));
    *identity = TRY(LeaveRoot(isolation_.rules));
    if (means != Means::kUserNamespace) return {};
    if (!identity->still_root.empty()) {
      return Error{ErrorCode::kPermission, "namespaces: " + identity->still_root, ""};
    }
    return Isolate(isolation_, *means);
  }

  void ChooseMeans() {
    std::vector<Means> doors = {Means::kUserNamespace};
    if (geteuid() == 0) doors.insert(doors.begin(), Means::kRoot);
    std::string failures;
    for (const Means door : doors) {
      const auto failure = FailureInChild([&]() -> Status {
        Identity ignored;
        return Walk(door, &ignored);
      });
      if (!failure) {
        means_ = door;
        return;
      }
      failures += (failures.empty() ? "" : "; ") + *failure;
    }
    const std::string why = WhyNoNamespaces();
    absent.push_back("L2: " + failures + (why.empty() ? "" : "; " + why));
  }

  const Level wanted_;
  Isolation isolation_;
  std::vector<PathRule> visible_;
  std::optional<Means> means_;
  Identity identity_;
};

// Whatever of L1 holds holds, even where the rest does not. True when all of it does.
Result<bool> LockDown(const Policy& policy, const Entrance& entrance, Reached* reached) {
  const std::string& still_root = entrance.identity().still_root;
  bool all = still_root.empty();
  if (!all) {
    reached->absent.push_back("L1: still root, though without capabilities: " + still_root);
  }
  TRY(SetDumpable(true));  // a change of identity ends it, and /proc/self is not ours without
  DieFirst();
  TRY(DropCapabilities());
  TRY(RefuseNewPrivileges());
  TRY(SetLimits(policy.limits, entrance.counted_apart() ? 1 : ThreadsOfThisUser()));
  const Status files = RestrictFiles(entrance.visible(), policy.network);
  if (!files.ok()) {
    reached->absent.push_back("L1: " + files.error().Line());
    all = false;
  }
  FilterOptions filter;
  filter.network = policy.network;
  filter.allow_processes = policy.allow_processes;
  filter.own_signals_only = !policy.allow_processes || !files.ok() || LandlockAbi() < kAbiOfSignals;
  TRY(SetDumpable(policy.dumpable));
  const Status calls = FilterSystemCalls(filter);
  if (!calls.ok()) {
    reached->absent.push_back("L1: " + calls.error().Line());
    all = false;
  }
  return all;
}

}  // namespace

std::string_view Name(Level level) {
  switch (level) {
    case Level::kNone:
      return "L0";
    case Level::kL1:
      return "L1";
    case Level::kL2:
      return "L2";
  }
  return "";
}

std::string Describe(const Reached& reached) {
  std::string text(Name(reached.level));
  for (size_t i = 0; i < reached.absent.size(); ++i) {
    text += (i == 0 ? "; not in force: " : "; ") + reached.absent[i];
  }
  return text;
}

Result<Reached> Enter(const Policy& policy) {
  Reached reached;
  if (policy.wanted == Level::kNone) return reached;
  TRY(OnlyThread());
  TRY(CleanDescriptors(policy.descriptors));
  DieFirst();
  Entrance entrance(policy);
  TRY(entrance.Pass());
  reached.absent = entrance.absent;
  CleanEnvironment(policy.environment);
  umask(077);
  if (chdir(policy.working_folder.c_str()) != 0) {
    return Failed("sandbox: entering " + policy.working_folder.string());
  }
  if (TRY(LockDown(policy, entrance, &reached))) {
    reached.level = entrance.isolated() ? Level::kL2 : Level::kL1;
  }
  return reached;
}

Result<Reached> EnterOrRefuse(const Policy& policy) {
  Reached reached = TRY(Enter(policy));
  if (reached.level != Level::kNone) return reached;
  return Error{ErrorCode::kPermission,
               "a program is not run without a sandbox: " + Describe(reached),
               "see docs/sandbox.md; --unsandboxed runs programs that you trust"};
}

}  // namespace warpsmith::sandbox
