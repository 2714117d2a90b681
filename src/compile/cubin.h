// What a cubin says about its kernels' memory. Private to this folder.
#ifndef WARPSMITH_COMPILE_CUBIN_H_
#define WARPSMITH_COMPILE_CUBIN_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace warpsmith::compile {

// Bytes of global memory that the kernels may write: .nv.global and .nv.global.init, whole, unless
// none of a section's variables is mentioned in `ptx` beyond its declaration. NVRTC keeps every
// namespace-scope constexpr there, long after its value went into the instructions. Variables in
// constant memory do not count. Without `ptx` ("") every variable counts.
Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_CUBIN_H_
