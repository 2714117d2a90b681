#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "sandbox/isolation.h"
#include "sandbox/path_rules.h"
#include "sandbox/syscall_filter.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

// What a process was given by whoever started it. Private to this folder.

constexpr std::string_view kKeptVariables[] = {"PATH",
                                               "LANG",
                                               "LC_ALL",
                                               "TZ",
                                               "TMPDIR",
                                               "CUDA_HOME",
                                               "CUDA_PATH",
                                               "CUDA_VISIBLE_DEVICES",
                                               "LD_LIBRARY_PATH",
                                               "ASAN_OPTIONS",
                                               "UBSAN_OPTIONS"};
constexpr std::string_view kOwnPrefix = "WARPSMITH_";
constexpr std::string_view kSecretWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};

bool Contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool IsKept(std::string_view name, const std::vector<std::string>& kept) {
  if (std::find(kept.begin(), kept.end(), name) != kept.end()) return true;
  if (std::find(std::begin(kKeptVariables), std::end(kKeptVariables), name) !=
      std::end(kKeptVariables)) {
    return true;
  }
  return name.starts_with(kOwnPrefix) &&
         std::none_of(std::begin(kSecretWords), std::end(kSecretWords),
                      [&](std::string_view word) { return Contains(name, word); });
}

// Leaves a short list of variables and `kept`, with HOME=/nonexistent; the rest is overwritten in
// memory too, since keys and tokens are passed so.
void CleanEnvironment(const std::vector<std::string>& kept) {
  std::vector<std::string> remaining;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name != "HOME" && IsKept(name, kept)) remaining.emplace_back(text);
    explicit_bzero(*entry, text.size());
  }
  clearenv();
  setenv("HOME", "/nonexistent", 1);
  for (const std::string& entry : remaining) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
}

// stdin from /dev/null; all but 0, 1, 2 and `kept` closed; files made are their owner's alone.
Status CleanDescriptors(const std::vector<int>& kept) {
  const int devnull = open("/dev/null", O_RDONLY);
  if (devnull < 0 || dup2(devnull, STDIN_FILENO) < 0) return Failed("stdin from /dev/null");
  std::vector<int> open_ones = {STDERR_FILENO};
  for (const int descriptor : kept) {
    if (descriptor > STDERR_FILENO) open_ones.push_back(descriptor);
  }
  std::sort(open_ones.begin(), open_ones.end());
  for (size_t i = 0; i < open_ones.size(); ++i) {
    const auto first = static_cast<unsigned>(open_ones[i]) + 1;
    const bool is_last = i + 1 == open_ones.size();
    const unsigned last = is_last ? ~0U : static_cast<unsigned>(open_ones[i + 1]) - 1;
    if (first <= last && close_range(first, last, 0) != 0) return Failed("closing descriptors");
  }
  umask(077);
  return {};
}

// kInternal unless this is the process's only thread.
Status OnlyThread() {
  std::error_code failed;
  const std::filesystem::directory_iterator threads("/proc/self/task", failed);
  if (!failed && std::distance(begin(threads), end(threads)) == 1) return {};
  return Error{ErrorCode::kInternal,
               "the sandbox is to be entered by a process with one thread and /proc", ""};
}

constexpr int kErred = 255;

// The level as the status, what is absent as lines.
int EnterAsProgramsDo(int pipe_end) {
  Policy policy;
  policy.descriptors = {pipe_end};
  AllowLibraries(&policy);
  AllowGpu(&policy);
  const Result<Reached> reached = Enter(policy);
  if (!reached.ok()) {
    WriteText(pipe_end, reached.error().Line());
    return kErred;
  }
  std::string text;
  for (const std::string& line : reached->absent) text += line + "\n";
  return WriteText(pipe_end, text) ? static_cast<int>(reached->level) : kErred;
}

namespace fs = std::filesystem;

// What `attempt` fails with, found out in a child; nothing when it goes well.
std::optional<std::string> FailureInChild(const std::function<Status()>& attempt) {
  const auto answer = TryInChild([&](int pipe_end) {
    const Status tried = attempt();
    if (!tried.ok()) WriteText(pipe_end, tried.error().message);
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
    isolation_.hidden_files = FilesUnder(isolation_.rules, policy.hidden);
    isolation_.network = policy.network;
    visible_ = WithoutHidden(isolation_.rules, isolation_.hidden_files);
  }

  Status Pass() {
    if (wanted_ == Level::kL2) ChooseMeans();
    return Walk(means_, &still_root_);
  }

  bool counted_apart() const { return means_ == IsolationMeans::kUserNamespace; }
  bool isolated() const { return means_.has_value(); }
  const std::string& still_root() const { return still_root_; }  // why; empty: it is not
  const std::vector<PathRule>& visible() const { return visible_; }
  std::vector<std::string> absent;

 private:
  // Root goes through its own door, as only then folders of root's own can be shown to nobody.
  Status Walk(const std::optional<IsolationMeans>& means, std::string* still_root) const {
    if (means == IsolationMeans::kRoot) TRY(Isolate(isolation_, *means));
    *still_root = TRY(LeaveRoot(isolation_.rules));
    if (means != IsolationMeans::kUserNamespace) return {};
    if (!still_root->empty()) {
      return Error{ErrorCode::kPermission, "namespaces: " + *still_root, ""};
    }
    return Isolate(isolation_, *means);
  }

  void ChooseMeans() {
    std::vector<IsolationMeans> doors = {IsolationMeans::kUserNamespace};
    if (geteuid() == 0) doors.insert(doors.begin(), IsolationMeans::kRoot);
    std::string failures;
    for (const IsolationMeans door : doors) {
      const auto failure = FailureInChild([&]() -> Status {
        std::string ignored;
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
  std::optional<IsolationMeans> means_;
  std::string still_root_;
};

// Whatever of L1 holds holds, even where the rest does not. True when all of it does.
Result<bool> LockDown(const Policy& policy, const Entrance& entrance, Reached* reached) {
  const std::string& still_root = entrance.still_root();
  bool all = still_root.empty();
  if (!all) reached->absent.push_back("L1: still root, though without capabilities: " + still_root);
  TRY(SetDumpable(true));  // a change of identity ends it, and /proc/self is not ours without
  RaiseOomScore();
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

Result<Reached> Probe() {
  const ChildResult answer = TRY(TryInChild(EnterAsProgramsDo));
  if (answer.status > static_cast<int>(Level::kL2)) {
    return Error{ErrorCode::kInternal, "trying the sandbox: " + answer.text, ""};
  }
  Reached reached;
  reached.level = static_cast<Level>(answer.status);
  for (size_t start = 0; start < answer.text.size();) {
    const size_t end = answer.text.find('\n', start);
    reached.absent.push_back(answer.text.substr(start, end - start));
    start = end + 1;
  }
  return reached;
}

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
  RaiseOomScore();
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

Error Become(std::span<const std::string> command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return {ErrorCode::kUnavailable, command[0] + ": " + std::strerror(errno), ""};
}

int Fail(const Error& error) {
  std::fprintf(stderr, "warpsmith: %s\n", error.Line().c_str());
  return warpsmith::Describe(error.code).exit_status;
}

}  // namespace warpsmith::sandbox
