#include <cuda_fp16.h>

extern "C" __global__ void softmax(const __half* x, __half* y, int rows, int columns) {
  const int r = blockIdx.x * 8 + threadIdx.y;
  if (r >= rows) return;
  const __half* in = x + static_cast<long long>(r) * columns;
  __half* out = y + static_cast<long long>(r) * columns;
  float most = __half2float(in[0]);
  for (int i = threadIdx.x; i < columns; i += 32) most = fmaxf(most, __half2float(in[i]));
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
  }
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += expf(__half2float(in[i]) - most);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  for (int i = threadIdx.x; i < columns; i += 32) {
    out[i] = __float2half(expf(__half2float(in[i]) - most) / sum);
  }
}
