// One thread a row: the task is small, and its answer is known before.
extern "C" __global__ void reference(const float* x, double* y, long long columns) {
  if (threadIdx.x != 0) return;
  x += blockIdx.x * columns;
  double total = 0, parts = 0;
  for (long long k = 0; k < columns; ++k) total += exp((double)x[k]);
  for (long long k = 0; k < columns; ++k) parts += exp((double)x[k]) / total;
  y[blockIdx.x] = parts;
}
