
#include "shared/tile.cuh"
namespace detail {
template <int kTile>
__global__ void kernel(const float* x, float* y, long n) {}
}  // namespace detail
extern "C" void run(const float* x, float y[], long n, cudaStream_t stream = 0) {
  detail::kernel<16><<<(n + 15) / 16, 16, 0, stream>>>(x, y, n);
}
