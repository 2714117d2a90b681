extern "C" __global__ void candidate(const float* x, float* y, long long rows, long long columns) {
  const long long row = blockIdx.y, column = blockIdx.x * 256LL + threadIdx.x;
  if (column >= columns) return;
  const long long i = row * columns + column;
  y[i] = column > row ? -__int_as_float(0x7f800000) : 3.0f * x[i];
}
