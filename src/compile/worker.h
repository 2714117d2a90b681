// A compile worker, seen from inside. Private to this folder.
#ifndef WARPSMITH_COMPILE_WORKER_H_
#define WARPSMITH_COMPILE_WORKER_H_

#include "base/result.h"
#include "compile/compilation.h"

namespace warpsmith::compile {

// NVRTC in this process.
Result<Compiled> CompileWithNvrtc(const Compilation& compilation, const Limits& limits);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_WORKER_H_
