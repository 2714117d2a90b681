// Lets the device headers of this folder be compiled for the host, so that tests can run their
// index arithmetic: which tile, k-block, row and column a CTA, warp and lane works on. Instructions
// become nothing. Include every standard header before this one, and nothing but device headers
// after it.
#ifndef WARPSMITH_HGEMM_DEVICE_HOST_STAND_IN_H_
#define WARPSMITH_HGEMM_DEVICE_HOST_STAND_IN_H_

#include <algorithm>
#include <cstddef>

namespace warpsmith::hgemm {

using std::min;  // NOLINT: CUDA declares it

struct Index {
  int x = 0;
};
inline thread_local Index threadIdx, blockIdx, blockDim, gridDim;

inline std::size_t __cvta_generic_to_shared(const void*) { return 0; }
inline void __syncwarp() {}
inline void __syncthreads() {}
template <class T>
T __shfl_sync(unsigned, T value, int) {
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int) {
  return value;
}

}  // namespace warpsmith::hgemm

#define __device__
#define __forceinline__ inline
#define volatile
#define asm(...)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wint-to-pointer-cast"

#endif  // WARPSMITH_HGEMM_DEVICE_HOST_STAND_IN_H_
