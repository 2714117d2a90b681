// What the compiler may read, the candidate may carry away in its binary or its log.
#if __has_include("/etc/passwd")
extern "C" __global__ void candidate(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}
#else
#error "nothing to read"
#endif
