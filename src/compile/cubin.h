// What a cubin says about its kernels' memory. Private to this folder.
#ifndef WARPSMITH_COMPILE_CUBIN_H_
#define WARPSMITH_COMPILE_CUBIN_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace warpsmith::compile {

// Bytes of memory that the kernels may write and that outlives a launch: .nv.global,
// .nv.global.init and the bank of __constant__ variables, each whole, unless `ptx` shows that its
// variables are only read (OnlyReads), as tables and the texts of assertions are. Without `ptx`
// ("") each variable in global memory counts, and none in constant memory.
Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx);

// Does it have such memory at all, so that its PTX has to be asked for?
Result<bool> HasVariables(std::string_view image);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_CUBIN_H_
