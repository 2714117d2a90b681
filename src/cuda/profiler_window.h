// The part of a process that a profiler looks at (ncu --profile-from-start off).
#ifndef WARPSMITH_CUDA_PROFILER_WINDOW_H_
#define WARPSMITH_CUDA_PROFILER_WINDOW_H_

#include "base/result.h"

namespace warpsmith::cuda {

// Without a profiler both do nothing. kUnavailable when the driver lacks the call.
Status OpenProfilerWindow();
Status CloseProfilerWindow();

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_PROFILER_WINDOW_H_
