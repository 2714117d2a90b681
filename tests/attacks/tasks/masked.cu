extern "C" __global__ void reference(const float* x, double* y, long long rows, long long columns) {
  const long long row = blockIdx.y, column = blockIdx.x * 256LL + threadIdx.x;
  if (column >= columns) return;
  const long long i = row * columns + column;
  y[i] = column > row ? -__longlong_as_double(0x7ff0000000000000) : 3.0 * x[i];
}
