extern "C" __global__ void histogram(const int* keys, int* counts, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    atomicAdd(&counts[keys[i]], 1);
  }
}
