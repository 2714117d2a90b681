// The honest program.
#include <cstdint>

__global__ void Product(const float* A, const float* B, float* C, int M, int N, int K) {
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 16 + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += (float)A[m * K + k] * (float)B[k * N + n];
  C[m * N + n] = sum;
}

static void Launch(void* C, void* A, void* B, int M, int N, int K) {
  const dim3 grid((N + 15) / 16, (M + 15) / 16), block(16, 16);
  Product<<<grid, block>>>((const float*)A, (const float*)B, (float*)C, M, N, K);
}

void launch_gpu_implementation(void* C, void* A, void* B, int64_t M, int64_t N, int64_t K) {
  Launch(C, A, B, M, N, K);
}
