// What a process may do by virtue of who it is. Private to this folder.
#ifndef WARPSMITH_SANDBOX_PRIVILEGES_H_
#define WARPSMITH_SANDBOX_PRIVILEGES_H_

#include <vector>

#include "sandbox/path_rules.h"
#include "sandbox/sandbox.h"

namespace warpsmith::sandbox {

// Root becomes kUnprivilegedId; anyone else stays. False in a Result when root has to stay root,
// since a path of `rules` would be out of the other's reach: that path is in `unreachable`.
struct Identity {
  bool root = false;
  std::filesystem::path unreachable;
};
Result<Identity> LeaveRoot(const std::vector<PathRule>& rules);

// Every capability, for good, and those that could be had by running a program.
Status DropCapabilities();
Status RefuseNewPrivileges();
// Nobody of the same user can trace it, read its memory or have it dump its core.
Status BecomeUntraceable();

// Also makes the process the first that the kernel ends when memory runs out.
Status SetLimits(const Limits& limits);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_PRIVILEGES_H_
