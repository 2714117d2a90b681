// The PyTorch process: computes expected outputs from a task's PyTorch reference, and runs that
// code as a baseline. It speaks the peer protocol over a socket (util/frame.h); its own Python
// files are carried inside the program and never written to disk.
#ifndef WARPSMITH_JUDGE_TORCH_TORCH_PROCESS_H_
#define WARPSMITH_JUDGE_TORCH_TORCH_PROCESS_H_

#include <chrono>
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
// is seen when it answers `start`, or beforehand by Probe().
Result<std::vector<std::string>> TorchPeerArgv(PeerMemory memory = PeerMemory::kDevice);

struct TorchInstallation {
  std::string python;          // as it is started
  std::string python_version;  // "3.11.7"
  std::string torch_version;   // "2.11.0+cu130"
  std::string cuda_version;    // that torch was built for: "13.0"
  std::string device;          // its first GPU, as torch names it
};

// Starts Python and imports torch, which takes seconds. kUnavailable names the first thing that is
// missing (a Python from 3.10, torch from 2.1, a CUDA device for it) and what to do.
Result<TorchInstallation> Probe(std::chrono::milliseconds limit = std::chrono::minutes(2));

// What the probe printed: its last line. Exposed for tests.
Result<TorchInstallation> ReadProbeAnswer(const std::string& python, std::string_view output);

// A program for `python3 -c`: makes the package `warpsmith_peer` importable, then runs
// `last_lines`.
std::string PeerProgram(std::string_view last_lines);

}  // namespace warpsmith::torch

#endif  // WARPSMITH_JUDGE_TORCH_TORCH_PROCESS_H_
