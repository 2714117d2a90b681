// A candidate's shared library, loaded from its bytes.
#ifndef WARPSMITH_JUDGE_PROGRAM_LIBRARY_H_
#define WARPSMITH_JUDGE_PROGRAM_LIBRARY_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith::judge {

// What the generated shim defines (core/program_shim.h): device addresses in the task's order.
using ProgramCall = void (*)(void* const* tensors);

// Runs the library's static initialisers. It is never unloaded.
Result<ProgramCall> LoadProgram(std::string_view image, const std::string& entry);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_LIBRARY_H_
