__device__ double Reduce(double value, bool largest) {
  __shared__ double values[256];
  __syncthreads();
  values[threadIdx.x] = value;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const double other = values[threadIdx.x + half], mine = values[threadIdx.x];
    values[threadIdx.x] = largest ? fmax(mine, other) : mine + other;
  }
  __syncthreads();
  return values[0];
}
extern "C" __global__ void reference(const float* x, double* y, long long columns) {
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  double largest = -1e300, sum = 0;
  for (long long k = threadIdx.x; k < columns; k += 256) largest = fmax(largest, (double)x[k]);
  largest = Reduce(largest, true);
  for (long long k = threadIdx.x; k < columns; k += 256) sum += exp(x[k] - largest);
  sum = Reduce(sum, false);
  for (long long k = threadIdx.x; k < columns; k += 256) y[k] = exp(x[k] - largest) / sum;
}
