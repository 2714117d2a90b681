// Honest: two blocks a row, and the one that comes last adds what the other has written.
__device__ float HalfSum(const float* row, long long columns) {
  __shared__ float sums[256];
  float sum = 0;
  for (long long k = threadIdx.x; k < columns; k += 256) sum += row[k];
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0];
}
extern "C" __global__ void candidate(const float* x, float* y, volatile float* halves,
                                     unsigned* arrived, long long rows, long long columns) {
  const long long row = blockIdx.x % rows, which = blockIdx.x / rows, half = columns / 2;
  const float* first = x + row * columns + which * half;
  const float sum = HalfSum(first, which == 0 ? half : columns - half);
  if (threadIdx.x != 0) return;
  halves[2 * row + which] = sum;
  __threadfence();
  if (atomicAdd(&arrived[row], 1u) == 0) return;
  __threadfence();
  y[row] = (halves[2 * row] + halves[2 * row + 1]) / columns;
}
