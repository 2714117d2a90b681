// Input contents, each a pure function of (seed, operand, row of the reduction k, other index), so
// that A and B can be filled apart and still agree about k.
#ifndef WARPSMITH_JUDGE_DEVICE_CONTENTS_CUH_
#define WARPSMITH_JUDGE_DEVICE_CONTENTS_CUH_

#include "judge/device/elements.cuh"

// Must match judge::Fill in src/judge/kernels.h.
enum FillKind {
  kFillNormal,
  kFillUniform,
  kFillZeroOne,
  kFillFp16Accumulate,
  kFillAdversarial,
  kFillBf16Accumulate
};

struct FillParameters {
  u16* target;
  i64 rows, columns;  // as stored, columns contiguous
  u64 seed;
  double density;  // kFillZeroOne
  i64 reduction;   // K
  int kind;
  int operand;      // 0: A, 1: B
  int k_is_column;  // is the stored column index the reduction's?
  int dtype;        // kF16 or kBF16
};

struct U32x4 {
  u32 x, y, z, w;
};

// Philox4x32-10 (Salmon et al., SC'11).
__device__ __forceinline__ U32x4 Philox(u64 counter, u64 stream, u64 key) {
  U32x4 c = {(u32)counter, (u32)(counter >> 32), (u32)stream, (u32)(stream >> 32)};
  u32 k0 = (u32)key, k1 = (u32)(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = (u64)0xD2511F53u * c.x, p1 = (u64)0xCD9E8D57u * c.z;
    c = {(u32)(p1 >> 32) ^ c.y ^ k0, (u32)p1, (u32)(p0 >> 32) ^ c.w ^ k1, (u32)p0};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

__device__ __forceinline__ float UnitOpen(u32 bits) {  // (0, 1)
  return ((float)(bits >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__device__ __forceinline__ float Normal(const U32x4& bits) {
  return sqrtf(-2.0f * logf(UnitOpen(bits.x))) * cospif(2.0f * UnitOpen(bits.y));
}

// 2048 (BF16: 256) first, then one unit in each k16 block, at a place in the block that A and B
// agree on: an accumulator of that type stays there. Odd rows of A are negated.
__device__ __forceinline__ float AccumulateValue(const FillParameters& p, i64 other, i64 k) {
  const i64 block = k / 16;
  if ((u64)(k % 16) != Mix(p.seed ^ (u64)block) % 16) return 0.0f;
  if (p.operand == 1) return 1.0f;
  const float first = p.kind == kFillBf16Accumulate ? 256.0f : 2048.0f;
  const float magnitude = block == 0 ? first : 1.0f;
  return other % 2 == 0 ? magnitude : -magnitude;
}

// FP16 ends at 2^-24: half of BF16's rows and columns are smaller than what it could hold.
__device__ __forceinline__ int WideScale(const FillParameters& p, i64 other) {
  if (p.dtype != kBF16) return 0;
  return Mix(p.seed + 78 + (u64)p.operand * 1000003 + (u64)other) % 2 == 0 ? 0 : -24;
}

// Rows and columns of different scales (2^-3 .. 2^2), in each row of A one entry sixteen times
// larger among the last 16 of k, and for every fourth row and column pairs of products that cancel.
__device__ __forceinline__ float AdversarialValue(const FillParameters& p, i64 other, i64 k) {
  const bool pairs = other % 4 == 3;
  const i64 k_drawn = pairs ? k / 2 * 2 : k;
  const u64 place = (u64)other * (u64)p.reduction + (u64)k_drawn;
  float value = Normal(Philox(place, 2 + p.operand, p.seed));
  const u64 scale = Mix(p.seed + 77 + (u64)p.operand * 1000003 + (u64)other) % 6;
  value = ldexpf(value, (int)scale - 3 + WideScale(p, other));
  if (p.operand == 1) return pairs && k % 2 == 1 ? -value : value;
  const i64 last = p.reduction < 16 ? p.reduction : 16;
  const u64 late = (u64)(p.reduction - last) + Mix(p.seed + 5 + (u64)other) % (u64)last;
  return (u64)k == late ? 16.0f * value : value;
}

__device__ __forceinline__ float ContentValue(const FillParameters& p, i64 row, i64 column) {
  const i64 k = p.k_is_column ? column : row;
  const i64 other = p.k_is_column ? row : column;
  if (p.kind == kFillFp16Accumulate || p.kind == kFillBf16Accumulate) {
    return AccumulateValue(p, other, k);
  }
  if (p.kind == kFillAdversarial) return AdversarialValue(p, other, k);
  const U32x4 bits = Philox((u64)row * (u64)p.columns + (u64)column, (u64)p.operand, p.seed);
  if (p.kind == kFillUniform) return 2.0f * UnitOpen(bits.x) - 1.0f;
  if (p.kind == kFillZeroOne) return UnitOpen(bits.x) < (float)p.density ? 1.0f : 0.0f;
  return Normal(bits);
}

// Must match judge::TensorFill in src/judge/kernels.h. One tensor of any type.
struct TensorFill {
  u8* target;
  i64 elements;
  u64 seed, stream;  // stream: tells tensors drawn from one seed apart
  u64 redraw_seed;   // a share `redraw` of the elements is drawn from this seed instead
  i64 low, high;
  float redraw;
  int generator;  // core's Generator
  int dtype;
  int mixed_scale;  // the adversarial variant: scales 2^-3 .. 2^2, some elements 16 times larger
};

enum TensorGenerator { kNormal, kUniform, kUnit, kIntegers, kOffsets };

__device__ __forceinline__ double TensorValue(const TensorFill& p, i64 i) {
  const bool other =
      p.redraw > 0.0f && UnitOpen((u32)Mix(p.redraw_seed ^ ((u64)i * 2 + p.stream))) < p.redraw;
  const U32x4 bits = Philox((u64)i, p.stream, other ? p.redraw_seed : p.seed);
  const u64 wide = ((u64)bits.y << 32) | bits.x;
  if (p.generator == kIntegers) return (double)(p.low + (i64)(wide % (u64)(p.high - p.low)));
  if (p.generator == kOffsets) {
    if (i == 0) return 0.0;
    if (i == p.elements - 1) return (double)p.high;
    const double step = (double)p.high / (double)(p.elements - 1);
    return floor(((double)(i - 1) + (double)UnitOpen(bits.x)) * step);
  }
  float value = Normal(bits);
  if (p.generator == kUniform) value = 2.0f * UnitOpen(bits.x) - 1.0f;
  if (p.generator == kUnit) value = UnitOpen(bits.x);
  if (!p.mixed_scale) return value;
  value = ldexpf(value, (int)(Mix(p.seed + 77 + (u64)(i / 64)) % 6) - 3);
  return i % 1024 == 1023 - (i64)(Mix(p.seed + (u64)(i / 1024)) % 16) ? 16.0f * value : value;
}

extern "C" __global__ void JudgeFillTensor(TensorFill p) {
  for (i64 i = GlobalThread(); i < p.elements; i += GlobalThreads()) {
    StoreElement(p.target, p.dtype, i, TensorValue(p, i));
  }
}

extern "C" __global__ void JudgeFill(FillParameters p) {
  const i64 elements = p.rows * p.columns;
  for (i64 i = GlobalThread(); i < elements; i += GlobalThreads()) {
    StoreElement(p.target, p.dtype, i, ContentValue(p, i / p.columns, i % p.columns));
  }
}

#endif  // WARPSMITH_JUDGE_DEVICE_CONTENTS_CUH_
