// The system calls that a locked-in process may not make (seccomp). Private to this folder.
#ifndef WARPSMITH_SANDBOX_SYSCALL_FILTER_H_
#define WARPSMITH_SANDBOX_SYSCALL_FILTER_H_

#include "base/result.h"

struct sock_filter;

namespace warpsmith::sandbox {

struct FilterOptions {
  bool network = false;
  bool allow_processes = false;
  // Signals go to this process only. Off where Landlock sees to it that they stay among the
  // processes locked in together.
  bool own_signals_only = true;
};

// Of this thread and all it starts, for good; needs no_new_privs.
Status FilterSystemCalls(const FilterOptions& options);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_SYSCALL_FILTER_H_
