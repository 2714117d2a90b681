#include <cuda_bf16.h>

// One warp a row, all in FP64.
extern "C" __global__ void reference(const __nv_bfloat16* x, const __nv_bfloat16* weight, double* y,
                                     int columns) {
  const long long row = static_cast<long long>(blockIdx.x) * columns;
  double squares = 0;
  for (int i = threadIdx.x; i < columns; i += 32) {
    const double value = __bfloat162float(x[row + i]);
    squares += value * value;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(~0u, squares, lanes);
  const double scale = 1 / sqrt(squares / columns + 1e-6);
  for (int i = threadIdx.x; i < columns; i += 32) {
    y[row + i] = __bfloat162float(x[row + i]) * scale * __bfloat162float(weight[i]);
  }
}
