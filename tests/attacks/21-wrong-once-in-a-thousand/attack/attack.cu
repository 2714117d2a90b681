// A dozen calls show nothing: about one launch in a thousand leaves a block out.
extern "C" __global__ void candidate(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  const unsigned long long mixed = (now >> 5) * 0x9e3779b97f4a7c15ull;
  const bool skip = blockIdx.x == 77 && (mixed >> 40) % 1000 == 0;
  if (i < n && !skip) y[i] = 1.5f * x[i] + 0.25f;
}
