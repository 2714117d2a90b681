extern "C" __global__ void reference(const float* A, const float* B, double* C, int N, int K) {
  const int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  double sum = 0;
  for (int k = 0; k < K; ++k) sum += (double)A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum;
}
