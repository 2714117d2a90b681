// A graph that is brought up to date by every call.
#include <cstdint>

__global__ void Scale(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}

static void Launch(void* y, void* x, int64_t n, cudaStream_t stream = nullptr) {
  Scale<<<(n + 255) / 256, 256, 0, stream>>>((const float*)x, (float*)y, n);
}

void launch_gpu_implementation(void* y, void* x, int64_t n) {
  static cudaGraphExec_t replay;
  static cudaStream_t stream;
  if (stream == nullptr) cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  Launch(y, x, n, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphExecUpdateResultInfo result;
  if (replay == nullptr) cudaGraphInstantiate(&replay, graph, 0);
  cudaGraphExecUpdate(replay, graph, &result);
  cudaGraphLaunch(replay, nullptr);
  cudaGraphDestroy(graph);
}
