// Honest: prefetches its own operands, all of them at once.
__device__ void Prefetch(const float* operand, long long bytes, long long thread,
                         long long threads) {
  for (long long at = thread * 128; at < bytes; at += threads * 128) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char*)operand + at));
  }
}
extern "C" __global__ void candidate(const float* A, const float* B, float* C, int M, int N,
                                     int K) {
  const long long thread =
      ((long long)blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.y * 16 + threadIdx.x;
  const long long threads = (long long)gridDim.x * gridDim.y * 256;
  Prefetch(A, 4LL * M * K, thread, threads);
  Prefetch(B, 4LL * K * N, thread, threads);
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 16 + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum;
}
