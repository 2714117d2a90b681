extern "C" __global__ void reference(const float* x, double* y, long long columns) {
  __shared__ double sums[256];
  double sum = 0;
  for (long long k = threadIdx.x; k < columns; k += 256) sum += x[blockIdx.x * columns + k];
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0] / columns;
}
