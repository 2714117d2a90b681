// Family mma_sync: sums over K splits, and the ways to store C.
#ifndef WARPSMITH_HGEMM_DEVICE_MMA_SYNC_STORE_CUH_
#define WARPSMITH_HGEMM_DEVICE_MMA_SYNC_STORE_CUH_

#include "mma_sync_tile.cuh"

namespace warpsmith::hgemm::mma_sync {

// ---- sums over K splits
// --------------------------------------------------------------------------

// Shared address of fragment q (0..kTilesI*kTilesJ-1) of this thread in the f32 tile at `base`.
template <class C>
__device__ __forceinline__ uint32_t FragmentAddress(uint32_t base, int q) {
  constexpr int kThreads = Derived<C>::kGroupThreads;
  return base + (q * kThreads + threadIdx.x % kThreads) * 16;
}

template <class C>
__device__ __forceinline__ void WriteTile(uint32_t base, const Accumulator<C>& acc) {
  using D = Derived<C>;
#pragma unroll
  for (int q = 0; q < D::kTilesI * D::kTilesJ; ++q) {
    const float(&v)[4] = acc[q / D::kTilesJ][q % D::kTilesJ];
    ptx::st_shared_v4_f32(FragmentAddress<C>(base, q), {v[0], v[1], v[2], v[3]});
  }
}

// Warp group 0 ends with the sum of all groups, added in group order.
template <class C>
__device__ __forceinline__ void AddWarpGroups(Accumulator<C>& acc, uint32_t base) {
  using D = Derived<C>;
  const int group = threadIdx.x / D::kGroupThreads;
  __syncthreads();  // all warps have left the ring, whose memory is reused here
  if (group > 0) WriteTile<C>(base + (group - 1) * D::kTileF32Bytes, acc);
  __syncthreads();  // group 0 waits for the tiles of the other groups
  if (group > 0) return;
#pragma unroll
  for (int g = 1; g < C::kWarpsK; ++g) {
#pragma unroll
    for (int q = 0; q < D::kTilesI * D::kTilesJ; ++q) {
      float(&v)[4] = acc[q / D::kTilesJ][q % D::kTilesJ];
      const float4_t term =
          ptx::ld_shared_v4_f32(FragmentAddress<C>(base + (g - 1) * D::kTileF32Bytes, q));
      v[0] += term.x, v[1] += term.y, v[2] += term.z, v[3] += term.w;
    }
  }
}

// ---- stores
// ----------------------------------------------------------------------------------------

// Two neighbouring columns of one row.
template <class C>
__device__ __forceinline__ void StorePair(const Problem<C>& p, int row, int column, float v0,
                                          float v1) {
  if (C::kEdge != Edge::kExact && (row >= p.M() || column >= p.N())) return;
  const long long at = static_cast<long long>(row) * p.N() + column;
  if constexpr (C::kEdge == Edge::kUnaligned) {
    ptx::st_global_b16(p.c + at, ptx::cvt_rn_f32<C::kBf16>(v0));
    if (column + 1 < p.N()) ptx::st_global_b16(p.c + at + 1, ptx::cvt_rn_f32<C::kBf16>(v1));
  } else {
    ptx::st_global_b32(p.c + at, ptx::cvt_rn_x2_f32<C::kBf16>(v0, v1));
  }
}

template <class C>
__device__ __forceinline__ void StoreFragment(const Problem<C>& p, const Tile& tile, int q,
                                              const float (&v)[4]) {
  using D = Derived<C>;
  const WarpPlace w = LocateWarp<C>();
  const int row = tile.row + w.row + q / D::kTilesJ * 16 + w.lane / 4;
  const int column = tile.column + w.column + q % D::kTilesJ * 8 + w.lane % 4 * 2;
  StorePair(p, row, column, v[0], v[1]);
  StorePair(p, row + 8, column, v[2], v[3]);
}

template <class C>
__device__ __forceinline__ void StoreDirect(const Problem<C>& p, const Tile& tile,
                                            const Accumulator<C>& acc) {
  using D = Derived<C>;
#pragma unroll
  for (int q = 0; q < D::kTilesI * D::kTilesJ; ++q) {
    StoreFragment(p, tile, q, acc[q / D::kTilesJ][q % D::kTilesJ]);
  }
}

// 16 bytes of one row; lanes of a warp cover whole lines.
template <class C>
__device__ __forceinline__ void StoreChunk(const Problem<C>& p, int row, int column, uint4_t v) {
  if (C::kEdge != Edge::kExact && (row >= p.M() || column >= p.N())) return;
  half_t* out = p.c + static_cast<long long>(row) * p.N() + column;
  ptx::st_global_v4_b32(out, v.x, v.y, v.z, v.w);
}

// Each warp passes its rows, 16 at a time, through padded shared memory of its own, and writes
// 16-byte chunks. The 16 bytes of padding keep both accesses free of bank conflicts.
template <class C>
__device__ __forceinline__ void StoreStaged(const Problem<C>& p, const Tile& tile,
                                            const Accumulator<C>& acc, uint32_t base) {
  using D = Derived<C>;
  static_assert(C::kEdge != Edge::kUnaligned, "chunks need 16-byte aligned rows");
  constexpr int kChunks = D::kWarpN / 8;
  const WarpPlace w = LocateWarp<C>();
  const uint32_t mine = base + threadIdx.x / 32 * 16 * D::kPaddedRowBytes;
#pragma unroll
  for (int i = 0; i < D::kTilesI; ++i) {
    const uint32_t to = mine + w.lane / 4 * D::kPaddedRowBytes + w.lane % 4 * 4;
#pragma unroll
    for (int j = 0; j < D::kTilesJ; ++j) {
      const float(&v)[4] = acc[i][j];
      ptx::st_shared_b32(to + j * 16, ptx::cvt_rn_x2_f32<C::kBf16>(v[0], v[1]));
      ptx::st_shared_b32(to + 8 * D::kPaddedRowBytes + j * 16,
                         ptx::cvt_rn_x2_f32<C::kBf16>(v[2], v[3]));
    }
    __syncwarp();  // the warp's 16 rows are complete
#pragma unroll
    for (int at = w.lane; at < 16 * kChunks; at += 32) {
      const int row = at / kChunks, chunk = at % kChunks;
      StoreChunk(p, tile.row + w.row + i * 16 + row, tile.column + w.column + chunk * 8,
                 ptx::ld_shared_v4_b32(mine + row * D::kPaddedRowBytes + chunk * 16));
    }
    __syncwarp();  // all lanes have read before the next 16 rows are written
  }
}

// Partials are [split][M][N] f32.
template <class C>
__device__ __forceinline__ void StorePartials(const Problem<C>& p, const Tile& tile,
                                              const Accumulator<C>& acc) {
  using D = Derived<C>;
  const WarpPlace w = LocateWarp<C>();
  float* out = p.partials + static_cast<long long>(tile.split) * p.M() * p.N();
#pragma unroll
  for (int q = 0; q < D::kTilesI * D::kTilesJ; ++q) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int row = tile.row + w.row + q / D::kTilesJ * 16 + w.lane / 4 + e / 2 * 8;
      const int column = tile.column + w.column + q % D::kTilesJ * 8 + w.lane % 4 * 2 + e % 2;
      if (C::kEdge != Edge::kExact && (row >= p.M() || column >= p.N())) continue;
      out[static_cast<long long>(row) * p.N() + column] = acc[q / D::kTilesJ][q % D::kTilesJ][e];
    }
  }
}

// Every CTA sends each fragment to the rank that owns it; the owner adds them in rank order.
// Inbox: [rank][fragment of the share][thread] float4.
template <class C>
__device__ __forceinline__ void StoreClusterShare(const Problem<C>& p, const Tile& tile,
                                                  const Accumulator<C>& acc, uint32_t inbox) {
  using D = Derived<C>;
  constexpr int kShare = D::kTilesI * D::kTilesJ / C::kSplits;
  const bool active = threadIdx.x < D::kGroupThreads;
  ptx::barrier_cluster_wait_acquire();  // all CTAs of the cluster run: their memory may be written
#pragma unroll
  for (int q = 0; q < D::kTilesI * D::kTilesJ && active; ++q) {
    const float(&v)[4] = acc[q / D::kTilesJ][q % D::kTilesJ];
    const uint32_t slot = FragmentAddress<C>(inbox, tile.split * kShare + q % kShare);
    ptx::st_shared_cluster_v4_f32(ptx::mapa_shared_cluster(slot, q / kShare),
                                  {v[0], v[1], v[2], v[3]});
  }
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait_acquire();  // all threads wait until every CTA has sent its fragments
#pragma unroll
  for (int s = 0; s < kShare && active; ++s) {
    float sum[4] = {};
#pragma unroll
    for (int r = 0; r < C::kSplits; ++r) {
      const float4_t term = ptx::ld_shared_v4_f32(FragmentAddress<C>(inbox, r * kShare + s));
      sum[0] += term.x, sum[1] += term.y, sum[2] += term.z, sum[3] += term.w;
    }
    StoreFragment(p, tile, tile.split * kShare + s, sum);
  }
}

}  // namespace warpsmith::hgemm::mma_sync

#endif  // WARPSMITH_HGEMM_DEVICE_MMA_SYNC_STORE_CUH_
