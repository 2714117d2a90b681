#include <cuda_fp16.h>

__device__ float WarpSum(float sum) {
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  return sum;
}

extern "C" __global__ void layer_norm(const __half* x, const __half* weight, const __half* bias,
                                      __half* y, int rows, int columns) {
  const int r = blockIdx.x * 8 + threadIdx.y;
  if (r >= rows) return;
  const __half* in = x + static_cast<long long>(r) * columns;
  __half* out = y + static_cast<long long>(r) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += __half2float(in[i]);
  const float mean = WarpSum(sum) / columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += 32) {
    const float distance = __half2float(in[i]) - mean;
    squares += distance * distance;
  }
  const float scale = rsqrtf(WarpSum(squares) / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += 32) {
    const float normal = (__half2float(in[i]) - mean) * scale;
    out[i] = __float2half(normal * __half2float(weight[i]) + __half2float(bias[i]));
  }
}
