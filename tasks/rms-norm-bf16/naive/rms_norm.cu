#include <cuda_bf16.h>

extern "C" __global__ void rms_norm(const __nv_bfloat16* x, const __nv_bfloat16* weight,
                                    __nv_bfloat16* y, int rows, int columns) {
  const int r = blockIdx.x * 8 + threadIdx.y;
  if (r >= rows) return;
  const __nv_bfloat16* in = x + static_cast<long long>(r) * columns;
  __nv_bfloat16* out = y + static_cast<long long>(r) * columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += 32) {
    const float value = __bfloat162float(in[i]);
    squares += value * value;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(~0u, squares, lanes);
  const float scale = rsqrtf(squares / columns + 1e-6f);
  for (int i = threadIdx.x; i < columns; i += 32) {
    out[i] = __float2bfloat16(__bfloat162float(in[i]) * scale * __bfloat162float(weight[i]));
  }
}
