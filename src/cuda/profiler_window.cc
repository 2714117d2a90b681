#include "cuda/profiler_window.h"

#include <cuda.h>

#include "cuda/driver_api.h"
#include "cuda/library.h"

namespace warpsmith::cuda {
namespace {

// Looked up when asked for: nothing else that we do needs these.
Status Call(const char* name) {
  const Library library = TRY(Library::Open("libcuda.so.1", "install the NVIDIA driver"));
  const auto function = reinterpret_cast<CUresult (*)()>(TRY(library.Symbol(name)));
  const CUresult code = function();
  if (code == CUDA_SUCCESS) return {};
  return DriverError(name, code, "");
}

}  // namespace

Status OpenProfilerWindow() { return Call("cuProfilerStart"); }
Status CloseProfilerWindow() { return Call("cuProfilerStop"); }

}  // namespace warpsmith::cuda
