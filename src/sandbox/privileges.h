// What a process may do by virtue of who it is. Private to this folder.
#ifndef WARPSMITH_SANDBOX_PRIVILEGES_H_
#define WARPSMITH_SANDBOX_PRIVILEGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/path_rules.h"
#include "sandbox/sandbox.h"

namespace warpsmith::sandbox {

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

// When memory runs out. Also while still root: what root has set, nobody without capabilities lowers.
void RaiseOomScore();

Status SetLimits(const Limits& limits, int64_t threads_already);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_PRIVILEGES_H_
