extern "C" __global__ void reference(const int* offsets, const int* columns, const float* values,
                                     const float* x, double* y, int rows) {
  const int r = blockIdx.x * 256 + threadIdx.x;
  if (r >= rows) return;
  double sum = 0;
  for (int i = offsets[r]; i < offsets[r + 1]; ++i) {
    sum += static_cast<double>(values[i]) * x[columns[i]];
  }
  y[r] = sum;
}
