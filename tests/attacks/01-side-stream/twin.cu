// A side stream that the default stream waits for.
#include <cstdint>

__global__ void Scale(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}

static void Launch(void* y, void* x, int64_t n, cudaStream_t stream = nullptr) {
  Scale<<<(n + 255) / 256, 256, 0, stream>>>((const float*)x, (float*)y, n);
}

void launch_gpu_implementation(void* y, void* x, int64_t n) {
  static cudaStream_t side;
  static cudaEvent_t begin, end;
  if (side == nullptr) {
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  }
  cudaEventRecord(begin);
  cudaStreamWaitEvent(side, begin);
  Launch(y, x, n, side);
  cudaEventRecord(end, side);
  cudaStreamWaitEvent(nullptr, end);
}
