// Honest: a large array in local memory, all of it written before it is read.
extern "C" __global__ void candidate(const float* x, float* y, long long rows, long long columns) {
  __shared__ float sums[256];
  volatile float parts[1024];
  for (int i = 0; i < 1024; ++i) parts[i] = 0;
  const float* row = x + blockIdx.x * columns;
  for (long long k = threadIdx.x; k < columns; k += 256) {
    const int place = (int)((k / 256 * 7 + threadIdx.x) % 1024);
    parts[place] = parts[place] + row[k];
  }
  float sum = 0;
  for (int i = 0; i < 1024; ++i) sum += parts[i];
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0] / columns;
}
