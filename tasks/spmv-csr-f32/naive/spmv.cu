extern "C" __global__ void spmv(const int* offsets, const int* columns, const float* values,
                                const float* x, float* y, int rows) {
  const int r = blockIdx.x * 256 + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int i = offsets[r]; i < offsets[r + 1]; ++i) sum += values[i] * x[columns[i]];
  y[r] = sum;
}
