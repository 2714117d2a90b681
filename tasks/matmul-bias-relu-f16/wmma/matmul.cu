// Tiles of 64 x 64 outputs, 32 of k a step; each of the four warps has a quarter of 32 x 32.
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

namespace wmma = nvcuda::wmma;

namespace {

constexpr int kTile = 64, kDepth = 32, kThreads = 128;
constexpr int kPitchA = kDepth + 8, kPitchB = kTile + 8, kPitchC = kTile + 4;

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major>;
using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// A rows x columns piece of a row-major matrix; what lies outside is zero.
template <int rows, int columns, int pitch>
__device__ void LoadTile(__half* tile, const __half* matrix, int row0, int column0, int height,
                         int width) {
  for (int i = threadIdx.x; i < rows * columns; i += kThreads) {
    const int row = row0 + i / columns, column = column0 + i % columns;
    const bool inside = row < height && column < width;
    tile[i / columns * pitch + i % columns] =
        inside ? matrix[static_cast<int64_t>(row) * width + column] : __float2half(0.0f);
  }
}

__global__ void __launch_bounds__(kThreads)
    Matmul(const __half* a, const __half* b, const __half* bias, __half* c, int m, int n, int k) {
  __shared__ __align__(128) __half tile_a[kTile * kPitchA];
  __shared__ __align__(128) __half tile_b[kDepth * kPitchB];
  __shared__ __align__(128) float tile_c[kTile * kPitchC];
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int warp = threadIdx.x / 32, warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  Sum sums[2][2];
  for (auto& line : sums) {
    for (Sum& sum : line) wmma::fill_fragment(sum, 0.0f);
  }
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    LoadTile<kTile, kDepth, kPitchA>(tile_a, a, row0, k0, m, k);
    LoadTile<kDepth, kTile, kPitchB>(tile_b, b, k0, column0, k, n);
    __syncthreads();
    for (int depth = 0; depth < kDepth; depth += 16) {
      FragmentA parts_a[2];
      FragmentB parts_b[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(parts_a[i], tile_a + (warp_row + 16 * i) * kPitchA + depth, kPitchA);
        wmma::load_matrix_sync(parts_b[i], tile_b + depth * kPitchB + warp_column + 16 * i, kPitchB);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
          wmma::mma_sync(sums[i][j], parts_a[i], parts_b[j], sums[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      float* corner = tile_c + (warp_row + 16 * i) * kPitchC + warp_column + 16 * j;
      wmma::store_matrix_sync(corner, sums[i][j], kPitchC, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    const int row = row0 + i / kTile, column = column0 + i % kTile;
    if (row >= m || column >= n) continue;
    const float value = tile_c[i / kTile * kPitchC + i % kTile] + __half2float(bias[column]);
    c[static_cast<int64_t>(row) * n + column] = __float2half(fmaxf(value, 0.0f));
  }
}

}  // namespace

void launch_gpu_implementation(void* c, const void* a, const void* b, const void* bias, int64_t m,
                               int64_t n, int64_t k) {
  const dim3 grid(static_cast<unsigned>((n + kTile - 1) / kTile),
                  static_cast<unsigned>((m + kTile - 1) / kTile));
  Matmul<<<grid, kThreads>>>(static_cast<const __half*>(a), static_cast<const __half*>(b),
                             static_cast<const __half*>(bias), static_cast<__half*>(c),
                             static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
}
