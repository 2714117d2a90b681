// The PyTorch process: computes expected outputs from a task's PyTorch reference, and runs that
// code as a baseline. It speaks the peer protocol over a socket (base/frame.h); its own Python
// files are carried inside the program and never written to disk.
#ifndef WARPSMITH_JUDGE_TORCH_TORCH_PROCESS_H_
#define WARPSMITH_JUDGE_TORCH_TORCH_PROCESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::torch {

enum class PeerMemory : uint8_t {
  kDevice,  // descriptors are physical GPU memory (cuMemExportToShareableHandle)
  kHost,    // descriptors are memfds: for tests, on a machine without a GPU
};

// The Python to use: $WARPSMITH_PYTHON, else python3 in PATH. kUnavailable when there is none.
Result<std::string> FindPython();

// What starts the process; ChildProcess appends the socket's number. Whether that Python has torch
// is seen when it answers `start`.
Result<std::vector<std::string>> TorchPeerArgv(PeerMemory memory = PeerMemory::kDevice);

// A program for `python3 -c`: makes the package `warpsmith_peer` importable, then runs
// `last_lines`.
std::string PeerProgram(std::string_view last_lines);

}  // namespace warpsmith::torch

#endif  // WARPSMITH_JUDGE_TORCH_TORCH_PROCESS_H_
