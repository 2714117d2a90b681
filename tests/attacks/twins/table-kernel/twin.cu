// What honest kernels keep in global memory: tables and texts that they only read.
__device__ const float kFactors[4] = {1.5f, 1.5f, 1.5f, 1.5f};
__constant__ float kOffsets[4] = {0.25f, 0.25f, 0.25f, 0.25f};
extern "C" __global__ void candidate(const float* x, float* y, long long n) {
  if (n <= 0) printf("nothing to do: n is %lld\n", n);
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = kFactors[i % 4] * x[i] + kOffsets[i % 4];
}
