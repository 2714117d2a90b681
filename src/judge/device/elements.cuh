// Elements of any type, as doubles. Whole numbers beyond 2^53 are not exact.
#ifndef WARPSMITH_JUDGE_DEVICE_ELEMENTS_CUH_
#define WARPSMITH_JUDGE_DEVICE_ELEMENTS_CUH_

#include "judge/device/half.cuh"

// core's DType.
enum ElementType { kF16, kBF16, kF32, kF64, kI8, kI32, kI64, kBool };

__device__ __forceinline__ double LoadElement(const void* data, int dtype, i64 i) {
  switch (dtype) {
    case kF16:
      return FloatFromHalf(static_cast<const u16*>(data)[i]);
    case kBF16:
      return __uint_as_float((u32) static_cast<const u16*>(data)[i] << 16);
    case kF32:
      return static_cast<const float*>(data)[i];
    case kF64:
      return static_cast<const double*>(data)[i];
    case kI32:
      return static_cast<const int*>(data)[i];
    case kI64:
      return (double)static_cast<const i64*>(data)[i];
    case kBool:
      return static_cast<const u8*>(data)[i] != 0;
    default:
      return static_cast<const signed char*>(data)[i];
  }
}

__device__ __forceinline__ u64 ElementBits(const void* data, int dtype, i64 i) {
  switch (dtype) {
    case kF16:
    case kBF16:
      return static_cast<const u16*>(data)[i];
    case kF32:
    case kI32:
      return static_cast<const u32*>(data)[i];
    case kF64:
    case kI64:
      return static_cast<const u64*>(data)[i];
    default:
      return static_cast<const u8*>(data)[i];
  }
}

__device__ __forceinline__ u16 BFloatFromFloat(float value) {
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

__device__ __forceinline__ void StoreElement(void* data, int dtype, i64 i, double value) {
  switch (dtype) {
    case kF16:
      static_cast<u16*>(data)[i] = HalfFromFloat((float)value);
      return;
    case kBF16:
      static_cast<u16*>(data)[i] = BFloatFromFloat((float)value);
      return;
    case kF32:
      static_cast<float*>(data)[i] = (float)value;
      return;
    case kF64:
      static_cast<double*>(data)[i] = value;
      return;
    case kI32:
      static_cast<int*>(data)[i] = (int)value;
      return;
    case kI64:
      static_cast<i64*>(data)[i] = (i64)value;
      return;
    case kBool:
      static_cast<u8*>(data)[i] = value > 0.0;
      return;
    default:
      static_cast<signed char*>(data)[i] = (signed char)value;
  }
}

// The poison's 16-bit pattern over an element's width. Elements of one byte hold it too often by
// chance: their poison is not told apart.
__device__ __forceinline__ bool IsPoison(u64 bits, int dtype, u32 pattern) {
  const u64 half = pattern & 0xffffu, word = half * 0x10001u;
  switch (dtype) {
    case kF16:
    case kBF16:
      return bits == half;
    case kF32:
    case kI32:
      return bits == word;
    case kF64:
    case kI64:
      return bits == (word << 32 | word);
    default:
      return false;
  }
}

// Magnitudes from here round to infinity.
__device__ __forceinline__ double OverflowOf(int dtype) {
  if (dtype == kF16) return 65520.0;
  return dtype == kF64 ? 1.7976931348623157e308 : 3.4e38;
}

#endif  // WARPSMITH_JUDGE_DEVICE_ELEMENTS_CUH_
