extern "C" __global__ void __launch_bounds__(256)
    spmv(const int* __restrict__ offsets, const int* __restrict__ columns,
         const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
         int rows) {
  const int r = (blockIdx.x * 256 + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  float sum = 0;
  if (r < rows) {
    const int end = offsets[r + 1];
    for (int i = offsets[r] + lane; i < end; i += LANES) sum += values[i] * x[columns[i]];
  }
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
  if (r < rows && lane == 0) y[r] = sum;
}
