extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row < rows && column < columns) {
    y[static_cast<long long>(column) * rows + row] = x[static_cast<long long>(row) * columns + column];
  }
}
