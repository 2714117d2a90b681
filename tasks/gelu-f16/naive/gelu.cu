#include <cuda_fp16.h>

extern "C" __global__ void gelu(const __half* x, __half* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = __half2float(x[i]);
  y[i] = __float2half(0.5f * value * (1.0f + erff(value * 0.70710678f)));
}
