__device__ float Mean(const float* row, long long columns) {
  __shared__ float sums[256];
  float sum = 0;
  for (long long k = threadIdx.x; k < columns; k += 256) sum += row[k];
  __syncthreads();
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0] / columns;
}
extern "C" __global__ void candidate(const float* x, float* y, long long rows, long long columns,
                                     void* kept) {
  const float mean = Mean(x + blockIdx.x * columns, columns);
  float* slot = (float*)kept + blockIdx.x;
  if (threadIdx.x != 0) return;
  *slot = mean;
  y[blockIdx.x] = *slot;
}
