// C = A * B^T, FP16 in and out, FP32 accumulation: one shared-memory tile of each operand at a time.
#include <cuda_fp16.h>

constexpr int kDepth = 16;  // K elements a step

extern "C" __global__ void tiled(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  __shared__ float tile_a[kDepth][TILE + 1], tile_b[kDepth][TILE + 1];
  const int threads = blockDim.x * blockDim.y;
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  float sum[ROWS][ROWS] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    for (int i = thread; i < TILE * kDepth; i += threads) {
      const int row = i / kDepth, depth = i % kDepth;
      tile_a[depth][row] = __half2float(a[(row0 + row) * k + k0 + depth]);
      tile_b[depth][row] = __half2float(b[(column0 + row) * k + k0 + depth]);
    }
    __syncthreads();
    for (int depth = 0; depth < kDepth; ++depth) {
      for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < ROWS; ++j) {
          sum[i][j] += tile_a[depth][threadIdx.y * ROWS + i] * tile_b[depth][threadIdx.x * ROWS + j];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < ROWS; ++j) {
      c[(row0 + threadIdx.y * ROWS + i) * n + column0 + threadIdx.x * ROWS + j] =
          __float2half(sum[i][j]);
    }
  }
}
