#include <cuda_fp16.h>

__device__ float Gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

extern "C" __global__ void gelu(const __half* __restrict__ x, __half* __restrict__ y,
                                long long n) {
  const long long first = (blockIdx.x * 256LL + threadIdx.x) * 8;
  if (first + 8 <= n) {
    uint4 pack = *reinterpret_cast<const uint4*>(x + first);
    __half2* pairs = reinterpret_cast<__half2*>(&pack);
    for (int i = 0; i < 4; ++i) {
      const float2 value = __half22float2(pairs[i]);
      pairs[i] = __floats2half2_rn(Gelu(value.x), Gelu(value.y));
    }
    *reinterpret_cast<uint4*>(y + first) = pack;
    return;
  }
  for (long long i = first; i < n; ++i) y[i] = __float2half(Gelu(__half2float(x[i])));
}
