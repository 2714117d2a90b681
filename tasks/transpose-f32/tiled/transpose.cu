extern "C" __global__ void __launch_bounds__(256)
    transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  __shared__ float tile[32][33];  // a column of it meets every bank once
  const int column0 = blockIdx.x * 32, row0 = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8) {
    const int row = row0 + i, column = column0 + threadIdx.x;
    if (row < rows && column < columns) {
      tile[i][threadIdx.x] = x[static_cast<long long>(row) * columns + column];
    }
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) {
    const int row = row0 + threadIdx.x, column = column0 + i;
    if (row < rows && column < columns) {
      y[static_cast<long long>(column) * rows + row] = tile[threadIdx.x][i];
    }
  }
}
