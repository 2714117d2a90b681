
#include <cuda_fp16.h>
// __global__ void not_me(float* x) {}
template <typename T>
__device__ T twice(T x) {
  return x + x;
}

__global__ void __launch_bounds__(256)
    scale(const __half* __restrict__ input, __half* output, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) output[i] = __float2half(__half2float(input[i]) * factor);
}
