// Landlock: rights over files, TCP and signals that a process takes from itself. Private to this
// folder. https://docs.kernel.org/userspace-api/landlock.html
#ifndef WARPSMITH_SANDBOX_LANDLOCK_H_
#define WARPSMITH_SANDBOX_LANDLOCK_H_

#include <vector>

#include "base/result.h"
#include "sandbox/path_rules.h"

namespace warpsmith::sandbox {

// The kernel's version of the interface: what it can restrict grows with it. 0: not there.
int LandlockAbi();

inline constexpr int kAbiOfTcp = 4;
inline constexpr int kAbiOfSignals = 6;

// Of this process and all it starts, for good; needs no_new_privs. kUnavailable when the kernel has
// no Landlock, or has it switched off. A path that cannot be opened grants nothing.
Status RestrictFiles(const std::vector<PathRule>& rules, bool network);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_LANDLOCK_H_
