// The driver's handles, named without its headers, so that only the .cc files of this folder parse
// cuda.h. A handle is borrowed unless the class that holds it says otherwise.
#ifndef WARPSMITH_CUDA_TYPES_H_
#define WARPSMITH_CUDA_TYPES_H_

#include <cstdint>

struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUgraphExec_st;
struct CUgraph_st;
struct CUmod_st;
struct CUstream_st;

namespace warpsmith::cuda {

using DevicePointer = uint64_t;

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_TYPES_H_
