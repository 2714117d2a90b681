// What a program's process may see and do: the sandbox's policy for it.
#ifndef WARPSMITH_JUDGE_PROGRAM_SANDBOX_H_
#define WARPSMITH_JUDGE_PROGRAM_SANDBOX_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "judge/wire.h"
#include "sandbox/sandbox.h"

namespace warpsmith::judge {

// Before CUDA is opened. The level reached ("L1"); `socket` stays open.
Result<std::string> EnterProgramSandbox(const StartCommand& command, int socket);

// Threads, descriptors, the size of a file (a memfd is one, too), private memory: far more than
// CUDA and an honest host program take, far less than would harm the machine.
sandbox::Limits ProgramLimits();

// Patterns of the libraries that compute for others, without those that a task allows ("cublas").
// Where it allows none, of the toolkit only what every program needs is left.
std::vector<std::string> HiddenLibraries(const std::vector<std::string>& allow);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_SANDBOX_H_
