__device__ unsigned Mix(unsigned h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}
extern "C" __global__ void reference(const float* x, double* y, long long n, long long rounds) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  unsigned h = __float_as_uint(x[i]);
  for (long long round = 0; round < rounds; ++round) h = Mix(h + 1);
  y[i] = (h >> 8) * 0x1p-24;
}
