__device__ float WarpSum(float sum) {
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
  return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    row_sum(const float* __restrict__ x, float* __restrict__ y, int columns) {
  __shared__ float partial[THREADS / 32];
  const float* row = x + static_cast<long long>(blockIdx.x) * columns;
  float sum = 0;
  if (columns % 4 == 0) {
    const float4* packs = reinterpret_cast<const float4*>(row);
    for (int i = threadIdx.x; i < columns / 4; i += THREADS) {
      const float4 pack = packs[i];
      sum += (pack.x + pack.y) + (pack.z + pack.w);
    }
  } else {
    for (int i = threadIdx.x; i < columns; i += THREADS) sum += row[i];
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = WarpSum(threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
