constexpr int kThreads = 256, kEach = 4, kStep = kThreads * kEach;

__device__ float WarpScan(float sum, int lane) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const float before = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += before;
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    cumsum(const float* __restrict__ x, float* __restrict__ y, int columns) {
  __shared__ float totals[kThreads / 32];
  const long long row = static_cast<long long>(blockIdx.x) * columns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float carry = 0;
  for (int i0 = 0; i0 < columns; i0 += kStep) {
    const int first = i0 + threadIdx.x * kEach;
    float values[kEach];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      sum += first + i < columns ? x[row + first + i] : 0.0f;
      values[i] = sum;
    }
    const float through = WarpScan(sum, lane);  // this thread's elements included
    if (lane == 31) totals[warp] = through;
    __syncthreads();
    float before = carry + through - sum;
    float all = 0;
    for (int i = 0; i < kThreads / 32; ++i) {
      if (i < warp) before += totals[i];
      all += totals[i];
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (first + i < columns) y[row + first + i] = before + values[i];
    }
    carry += all;
    __syncthreads();  // totals may be overwritten
  }
}
