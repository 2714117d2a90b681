// The reference product in FP64 and its magnitude sum |a||b| in FP32, from FP16 or BF16 inputs.
//
// A block of 256 threads (16 x 16) makes a tile of 128 x 64; a thread makes 8 rows x 4 columns (two
// pairs, 32 apart, so that a warp's 16-byte shared loads do not collide). k runs in steps of 16:
// while a step is multiplied from shared memory, the next one is on its way into registers.
// Products of either are exact in FP64; the magnitude's FP32 rounding (< 0.1 %) is covered by the
// caller.
//
//   shared:  a64[16][130]  b64[16][66]  (rows padded against bank conflicts, 16-byte aligned)
//            a32[16][132]  b32[16][68]  absolute values
#ifndef WARPSMITH_JUDGE_DEVICE_REFERENCE_CUH_
#define WARPSMITH_JUDGE_DEVICE_REFERENCE_CUH_

#include "judge/device/elements.cuh"

struct ReferenceEntry {
  const u16* a;  // M x K
  const u16* b;  // K x N, or N x K when transposed
  double* product;
  float* magnitude;
};

constexpr int kTileM = 128, kTileN = 64, kTileK = 16;
constexpr int kThreads = 256;
constexpr int kLoadsA = kTileM * kTileK / kThreads, kLoadsB = kTileN * kTileK / kThreads;

struct ReferenceShape {
  i64 m, n, k;
  int transposed;
  int dtype;  // of A and B: kF16 or kBF16
};

struct ReferenceTile {
  double a64[kTileK][kTileM + 2], b64[kTileK][kTileN + 2];
  float a32[kTileK][kTileM + 4], b32[kTileK][kTileN + 4];
};

struct Fragments {
  u16 a[kLoadsA], b[kLoadsB];
};

__device__ __forceinline__ void LoadFragments(const ReferenceEntry& entry,
                                              const ReferenceShape& shape, i64 m0, i64 n0, i64 k0,
                                              Fragments& f) {
#pragma unroll
  for (int i = 0; i < kLoadsA; ++i) {
    const int e = threadIdx.x + i * kThreads;
    const i64 m = m0 + e / kTileK, k = k0 + e % kTileK;
    f.a[i] = m < shape.m && k < shape.k ? entry.a[m * shape.k + k] : (u16)0;
  }
#pragma unroll
  for (int i = 0; i < kLoadsB; ++i) {
    const int e = threadIdx.x + i * kThreads;
    const i64 n = n0 + (shape.transposed ? e / kTileK : e % kTileN);
    const i64 k = k0 + (shape.transposed ? e % kTileK : e / kTileN);
    const i64 place = shape.transposed ? n * shape.k + k : k * shape.n + n;
    f.b[i] = n < shape.n && k < shape.k ? entry.b[place] : (u16)0;
  }
}

__device__ __forceinline__ float FloatFrom(u16 bits, int dtype) {
  return dtype == kBF16 ? __uint_as_float((u32)bits << 16) : FloatFromHalf(bits);
}

__device__ __forceinline__ void StoreFragments(const Fragments& f, const ReferenceShape& shape,
                                               ReferenceTile& tile) {
#pragma unroll
  for (int i = 0; i < kLoadsA; ++i) {
    const int e = threadIdx.x + i * kThreads;
    const float value = FloatFrom(f.a[i], shape.dtype);
    tile.a64[e % kTileK][e / kTileK] = value;
    tile.a32[e % kTileK][e / kTileK] = fabsf(value);
  }
#pragma unroll
  for (int i = 0; i < kLoadsB; ++i) {
    const int e = threadIdx.x + i * kThreads;
    const int k = shape.transposed ? e % kTileK : e / kTileN;
    const int n = shape.transposed ? e / kTileK : e % kTileN;
    const float value = FloatFrom(f.b[i], shape.dtype);
    tile.b64[k][n] = value;
    tile.b32[k][n] = fabsf(value);
  }
}

struct Accumulators {
  double product[8][4];
  float magnitude[8][4];
};

__device__ __forceinline__ void MultiplyTile(const ReferenceTile& tile, int tx, int ty,
                                             Accumulators& sum) {
#pragma unroll 1
  for (int k = 0; k < kTileK; ++k) {
    double a[8], b[4];
    float c[8], d[4];
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      *reinterpret_cast<double2*>(&a[i]) =
          *reinterpret_cast<const double2*>(&tile.a64[k][ty * 8 + i]);
    }
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      const int n = tx * 2 + j * 16;
      *reinterpret_cast<double2*>(&b[j]) = *reinterpret_cast<const double2*>(&tile.b64[k][n]);
      *reinterpret_cast<float2*>(&d[j]) = *reinterpret_cast<const float2*>(&tile.b32[k][n]);
    }
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      *reinterpret_cast<float4*>(&c[i]) =
          *reinterpret_cast<const float4*>(&tile.a32[k][ty * 8 + i]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        sum.product[i][j] = fma(a[i], b[j], sum.product[i][j]);
        sum.magnitude[i][j] = fmaf(c[i], d[j], sum.magnitude[i][j]);
      }
    }
  }
}

// grid: (tiles of N, tiles of M, entries)
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    JudgeReference(const ReferenceEntry* entries, ReferenceShape shape) {
  __shared__ __align__(16) ReferenceTile tile;
  const ReferenceEntry entry = entries[blockIdx.z];
  const i64 m0 = (i64)blockIdx.y * kTileM, n0 = (i64)blockIdx.x * kTileN;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  Accumulators sum = {};
  Fragments next;
  LoadFragments(entry, shape, m0, n0, 0, next);
  for (i64 k0 = 0; k0 < shape.k; k0 += kTileK) {
    __syncthreads();  // everyone has read the previous step
    StoreFragments(next, shape, tile);
    __syncthreads();  // this step is there
    LoadFragments(entry, shape, m0, n0, k0 + kTileK, next);
    MultiplyTile(tile, tx, ty, sum);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const i64 m = m0 + ty * 8 + i, n = n0 + tx * 2 + (j / 2) * 32 + j % 2;
      if (m >= shape.m || n >= shape.n) continue;
      entry.product[m * shape.n + n] = sum.product[i][j];
      entry.magnitude[m * shape.n + n] = sum.magnitude[i][j];
    }
  }
}

#endif  // WARPSMITH_JUDGE_DEVICE_REFERENCE_CUH_
