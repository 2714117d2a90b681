// The table behind the filter: which calls, and with which arguments. Private to this folder.
#ifndef WARPSMITH_SANDBOX_DENIED_CALLS_H_
#define WARPSMITH_SANDBOX_DENIED_CALLS_H_

#include <cstdint>
#include <vector>

#include "sandbox/syscall_filter.h"

namespace warpsmith::sandbox {

// On the low 32 bits of an argument, which is all the kernel reads of an int.
struct Condition {
  int argument = 0;
  bool among = true;  // argument & mask is one of the values; or is none of them
  std::vector<uint32_t> values;
  uint32_t mask = ~0U;
  bool high = false;  // the upper 32 bits instead
};

// The call fails with `error` unless all conditions hold; with none it always fails.
struct DeniedCall {
  long number;
  int error;
  std::vector<Condition> unless;
};

std::vector<DeniedCall> DeniedCalls(const FilterOptions& options);

// Calls above this one are newer than this table: ENOSYS, so that callers fall back.
inline constexpr uint32_t kNewestKnownCall = 462;

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_DENIED_CALLS_H_
