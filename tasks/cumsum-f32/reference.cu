// One thread a row, as it is defined.
extern "C" __global__ void reference(const float* x, double* y, int rows, int columns) {
  const int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  double sum = 0;
  for (long long i = static_cast<long long>(r) * columns, end = i + columns; i < end; ++i) {
    sum += x[i];
    y[i] = sum;
  }
}
