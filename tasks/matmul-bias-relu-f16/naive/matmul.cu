#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(1024)
    matmul(const __half* a, const __half* b, const __half* bias, __half* c, int m, int n, int k) {
  __shared__ float tile_a[32][33], tile_b[32][33];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += 32) {
    tile_a[y][x] = row < m && k0 + x < k ? __half2float(a[row * k + k0 + x]) : 0.0f;
    tile_b[y][x] = k0 + y < k && column < n ? __half2float(b[(k0 + y) * n + column]) : 0.0f;
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) {
    c[row * n + column] = __float2half(fmaxf(sum + __half2float(bias[column]), 0.0f));
  }
}
