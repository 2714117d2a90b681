// The bridge between the judge, which calls `warpsmith_call` with device addresses, and a program's
// own entry, as the task declares it.
#ifndef WARPSMITH_CORE_PROGRAM_SHIM_H_
#define WARPSMITH_CORE_PROGRAM_SHIM_H_

#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"

namespace warpsmith {

// extern "C" void warpsmith_call(void* const* tensors), in the order of task.tensors.
inline constexpr char kProgramEntry[] = "warpsmith_call";

// That task.program, if there is one, declares one function and gives it arguments of its number,
// and that neither holds more C++ than that. kBadInput otherwise.
Status CheckProgramEntry(const Task& task);

// What is compiled in the place of `candidate`: with one source more, the generated shim, as its
// entry. Candidates of other forms come back as they are. Keys and identities stay those of the
// candidate itself. kBadInput when the task's `program` does not say how to call one.
Result<Candidate> WithProgramShim(const Candidate& candidate, const Task& task,
                                  const Workload& workload);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_PROGRAM_SHIM_H_
