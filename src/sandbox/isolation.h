// Namespaces, and a root folder that holds what a policy names and nothing else. Private to this
// folder.
#ifndef WARPSMITH_SANDBOX_ISOLATION_H_
#define WARPSMITH_SANDBOX_ISOLATION_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/path_rules.h"

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

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_ISOLATION_H_
