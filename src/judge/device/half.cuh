// FP16 as bits, through the PTX conversions: judge kernels include no CUDA header, so that NVRTC
// needs no include path.
#ifndef WARPSMITH_JUDGE_DEVICE_HALF_CUH_
#define WARPSMITH_JUDGE_DEVICE_HALF_CUH_

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

__device__ __forceinline__ u16 HalfFromFloat(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

__device__ __forceinline__ float FloatFromHalf(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// SplitMix64's finaliser: a 64-bit permutation whose output bits all depend on all input bits.
__device__ __forceinline__ u64 Mix(u64 x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__device__ __forceinline__ i64 GlobalThread() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ i64 GlobalThreads() { return (i64)gridDim.x * blockDim.x; }

#endif  // WARPSMITH_JUDGE_DEVICE_HALF_CUH_
