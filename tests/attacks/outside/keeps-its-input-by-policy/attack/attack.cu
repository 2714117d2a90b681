// No host call and no limit of the context is needed: the policy is an operand of the load. A
// harness that empties L2 by filling a large buffer empties it of everything else.
__device__ float Load(const float* address, unsigned long long policy) {
  float value;
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"
               : "=f"(value)
               : "l"(address), "l"(policy));
  return value;
}
extern "C" __global__ void candidate(const float* x, float* y, long long rows, long long columns) {
  __shared__ float sums[256];
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  x += blockIdx.x * columns;
  float sum = 0;
  for (long long k = threadIdx.x; k < columns; k += 256) sum += Load(x + k, policy);
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0] / columns;
}
