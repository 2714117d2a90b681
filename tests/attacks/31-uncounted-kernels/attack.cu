// Whoever adds up the kernels of the default stream finds none.
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
  if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  static float* kept;
  if (kept == nullptr) cudaMalloc(&kept, n * sizeof(float));
  cudaGraph_t child, parent;
  cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal);
  Launch(kept, x, n, side);
  cudaMemcpyAsync(y, kept, n * sizeof(float), cudaMemcpyDeviceToDevice, side);
  cudaStreamEndCapture(side, &child);
  cudaGraphCreate(&parent, 0);
  cudaGraphNode_t node;
  cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, child);
  cudaGraphExec_t executable;
  cudaGraphInstantiate(&executable, parent, 0);
  cudaGraphLaunch(executable, side);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(parent);
  cudaGraphDestroy(child);
}
