extern "C" __global__ void __launch_bounds__(512)
    histogram(const int* __restrict__ keys, int* counts, long long n, int bins) {
  extern __shared__ int mine[];
  for (int b = threadIdx.x; b < bins; b += 512) mine[b] = 0;
  __syncthreads();
  const long long fours = n / 4, stride = gridDim.x * 512LL;
  const int4* packs = reinterpret_cast<const int4*>(keys);
  const long long thread = blockIdx.x * 512LL + threadIdx.x;
  for (long long i = thread; i < fours; i += stride) {
    const int4 pack = packs[i];
    atomicAdd(&mine[pack.x], 1);
    atomicAdd(&mine[pack.y], 1);
    atomicAdd(&mine[pack.z], 1);
    atomicAdd(&mine[pack.w], 1);
  }
  if (thread < n - 4 * fours) atomicAdd(&mine[keys[4 * fours + thread]], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += 512) atomicAdd(&counts[b], mine[b]);
}
