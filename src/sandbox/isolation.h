// Namespaces, privileges, and a root folder that holds what a policy names and nothing else.
// Private to this folder.
#ifndef WARPSMITH_SANDBOX_ISOLATION_H_
#define WARPSMITH_SANDBOX_ISOLATION_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/path_rules.h"
#include "sandbox/sandbox.h"

namespace warpsmith::sandbox {

// What allows it: being root, or a user namespace, in which anyone may.
enum class IsolationMeans : uint8_t { kRoot, kUserNamespace };

struct Isolation {
  std::vector<PathRule> rules;                      // as NamedPaths gives them
  std::vector<std::filesystem::path> hidden_files;  // cannot be opened in the new root
  bool network = false;                             // keep the one that is there
};

// New mount, network, IPC and UTS namespaces (a PID namespace holds children only, and a process
// cannot enter one itself). The files of a path are seen as they are outside; all but writable ones
// are read-only. Where it fails the process is half-way in: try in a child first.
Status Isolate(const Isolation& isolation, IsolationMeans means);

// What on this machine keeps users from namespaces, and what to do; empty when unknown.
std::string WhyNoNamespaces();

// --- What a process may do by virtue of who it is. Private to this folder.

// Root becomes kUnprivilegedId, unless a path of `rules` would be out of reach then or the change
// is not to be had; anyone else stays who they are. Gives why it is still root; empty: it is not.
Result<std::string> LeaveRoot(const std::vector<PathRule>& rules);

// Every capability, for good, and those that could be had by running a program.
Status DropCapabilities();
Status RefuseNewPrivileges();
// Off: nobody of the same user can trace it, read its memory or have it dump its core.
Status SetDumpable(bool dumpable);

// The kernel counts threads against the user, wherever they run, and anew in a user namespace.
int64_t ThreadsOfThisUser();

// When memory runs out. Also while still root: what root has set, nobody without capabilities
// lowers.
void RaiseOomScore();

Status SetLimits(const Limits& limits, int64_t threads_already);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_ISOLATION_H_
