// In one process the context is lost for every later candidate.

extern "C" __global__ void candidate(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
  if (i == n - 1) *(volatile float*)16 = 0;
}
