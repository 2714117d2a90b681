#include <cuda_fp16.h>

constexpr int kThreads = 256, kEach = 16;
constexpr float kLowest = -3.4e38f;

// The result is in every thread. `partial` is free for use again when all have passed the next
// barrier of the block.
template <typename Combine>
__device__ float BlockReduce(float value, float* partial, Combine combine) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = combine(value, __shfl_xor_sync(~0u, value, lanes));
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % (kThreads / 32)];
  for (int lanes = kThreads / 64; lanes > 0; lanes /= 2) {
    value = combine(value, __shfl_xor_sync(~0u, value, lanes));
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax(const __half* __restrict__ x, __half* __restrict__ y, int columns) {
  __shared__ float partial[2][kThreads / 32];
  const long long row = static_cast<long long>(blockIdx.x) * columns;
  float values[kEach];
  float most = kLowest;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int column = i * kThreads + threadIdx.x;
    values[i] = column < columns ? __half2float(x[row + column]) : kLowest;
    most = fmaxf(most, values[i]);
  }
  most = BlockReduce(most, partial[0], [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    values[i] = __expf(values[i] - most);
    sum += values[i];
  }
  sum = BlockReduce(sum, partial[1], [](float a, float b) { return a + b; });
  const float scale = 1.0f / sum;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int column = i * kThreads + threadIdx.x;
    if (column < columns) y[row + column] = __float2half(values[i] * scale);
  }
}
