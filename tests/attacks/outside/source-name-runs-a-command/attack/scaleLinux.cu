// What the name of the entry becomes when a shell has read it, and has run the command in it.
extern "C" __global__ void candidate(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}
