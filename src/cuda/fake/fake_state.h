// A CUDA driver of host memory, for tests without a GPU: libcuda.so.1 with the real ABI.
//
// Device pointers are host pointers. Copies and fills happen when they are submitted, or, within a
// capture, at every launch of the graph. A module's image is text, one line a kernel:
//   kernel <name> <bytes of parameter 0> <bytes of parameter 1> ...
// A launch is written to a log; a kernel for which the test gave a host function runs that.
#ifndef WARPSMITH_CUDA_FAKE_FAKE_STATE_H_
#define WARPSMITH_CUDA_FAKE_FAKE_STATE_H_

#include <cuda.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

struct CUstream_st {
  bool capturing = false;
  std::vector<std::function<void()>> captured;
};
struct CUevent_st {
  float time_ms = 0;
};
struct CUgraph_st {
  std::vector<std::function<void()>> nodes;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> nodes;
};

namespace warpsmith::cuda::fake {

using HostKernel = void (*)(void** arguments);

struct State {
  std::vector<std::string> log;
  std::map<std::string, HostKernel> kernels;
  std::map<CUdeviceptr, size_t> allocations;
  float clock_ms = 0;
  int64_t host_ns = 0;
  float launch_ms = 1;
};

State& TheState();

// Now, or at every launch of the graph that `stream` is captured into.
CUresult Submit(CUstream stream, std::function<void()> work);

}  // namespace warpsmith::cuda::fake

#endif  // WARPSMITH_CUDA_FAKE_FAKE_STATE_H_
