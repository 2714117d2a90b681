// What others are compared with.
#include <cstdint>

__global__ void Scale(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}

static void Launch(void* y, void* x, int64_t n, cudaStream_t stream = nullptr) {
  Scale<<<(n + 255) / 256, 256, 0, stream>>>((const float*)x, (float*)y, n);
}

void launch_gpu_implementation(void* y, void* x, int64_t n) { Launch(y, x, n); }
