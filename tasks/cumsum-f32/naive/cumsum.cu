extern "C" __global__ void cumsum(const float* x, float* y, int rows, int columns) {
  const int r = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (r >= rows) return;
  const float* in = x + static_cast<long long>(r) * columns;
  float* out = y + static_cast<long long>(r) * columns;
  float carry = 0;
  for (int i0 = 0; i0 < columns; i0 += 32) {
    const int i = i0 + lane;
    float sum = i < columns ? in[i] : 0.0f;
    for (int distance = 1; distance < 32; distance *= 2) {
      const float before = __shfl_up_sync(~0u, sum, distance);
      if (lane >= distance) sum += before;
    }
    sum += carry;
    if (i < columns) out[i] = sum;
    carry = __shfl_sync(~0u, sum, 31);
  }
}
