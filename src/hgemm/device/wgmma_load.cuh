// The producers of the wgmma family: one thread fills the ring by TMA, or a warpgroup does by
// copies of 16 bytes each (kDirectLoad).
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_LOAD_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_LOAD_CUH_

#include "wgmma_tile.cuh"

namespace warpsmith::hgemm::wgmma {

template <bool kMulticast>
WS_DEVICE void LoadBox(u32 destination, const TensorMap* map, int x, int y, u32 barrier, u16 mask) {
  if constexpr (kMulticast) {
    ptx::cp_async_bulk_tensor_2d_load_multicast(destination, map, x, y, barrier, mask);
  } else {
    ptx::cp_async_bulk_tensor_2d_load(destination, map, x, y, barrier);
  }
}

// This CTA's share of A's stage: kTileM/kClusterN rows, to all CTAs of its cluster row.
template <class C>
WS_DEVICE void LoadA(const Cta& cta, const TensorMap* a, u32 stage, u32 full, int row, int k) {
  constexpr int kRows = C::kTileM / C::kClusterN;
  const u16 mask = ((1 << C::kClusterN) - 1) << cta.Rank(cta.row, 0, C::kClusterN);
  const int first = cta.column * kRows;
#pragma unroll
  for (int panel = 0; panel < C::kTileK / 64; ++panel) {
    LoadBox<(C::kClusterN > 1)>(stage + (panel * C::kTileM + first) * 128, a, k + panel * 64,
                                row + first, full, mask);
  }
}

// This CTA's share of B's stage: a 1/kClusterM slice of n (TN) or of k (NN), to its cluster column.
template <class C>
WS_DEVICE void LoadB(const Cta& cta, const TensorMap* b, u32 stage, u32 full, int column, int k) {
  constexpr int kPanelRows = C::kRowMajorB ? C::kTileK : C::kTileN;
  constexpr int kPanels = (C::kRowMajorB ? C::kTileN : C::kTileK) / 64;
  constexpr int kRows = kPanelRows / C::kClusterM;
  u16 mask = 0;
#pragma unroll
  for (int r = 0; r < C::kClusterM; ++r) mask |= 1 << cta.Rank(r, cta.column, C::kClusterN);
  const int first = cta.row * kRows;
  const int x = C::kRowMajorB ? column : k;
  const int y = (C::kRowMajorB ? k : column) + first;
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
    LoadBox<(C::kClusterM > 1)>(stage + (panel * kPanelRows + first) * 128, b, x + panel * 64, y,
                                full, mask);
  }
}

// kRows rows of kPanels times 64 columns from (row, column) on, as TMA would leave them: panels of
// 128-byte rows whose 16-byte chunks are XORed with the row; zeros beyond the matrix.
template <int kRows, int kPanels>
WS_DEVICE void CopyPanels(u32 destination, const u16* matrix, Tile size, int row, int column) {
  const int thread = threadIdx.x % 128, chunk = thread % 8;
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
    const int x = column + panel * 64 + chunk * 8;
#pragma unroll
    for (int r = thread / 8; r < kRows; r += 16) {
      const bool inside = row + r < size.m && x < size.n;
      const u64 offset = inside ? static_cast<u64>(row + r) * size.n + x : 0;
      ptx::cp_async_16(destination + (panel * kRows + r) * 128 + (chunk ^ r % 8) * 16,
                       matrix + offset, inside ? 16 : 0);
    }
  }
}

// Run by a warpgroup: no tensor map is fetched, and nothing waits behind one thread.
template <class C>
WS_DEVICE void Produce(const Cta& cta, const u16* a, const u16* b, const Problem& problem,
                       const Work& work) {
  using G = Geometry<C>;
  RingPosition<C::kStages> ring;
  ForEachTile<C>(cta, problem, work.first, [&](int row, int column, bool) {
    for (int block = work.blocks.begin; block < work.blocks.end; ++block, ring.Advance()) {
      const u32 stage = cta.shared + ring.stage * G::kStageBytes;
      const int k = block * C::kTileK;
      ptx::mbarrier_wait_parity(cta.empty + ring.stage * 8, ring.parity ^ 1);
      CopyPanels<C::kTileM, C::kTileK / 64>(stage, a, {problem.m, problem.k}, row, k);
      if constexpr (C::kRowMajorB) {
        CopyPanels<C::kTileK, C::kTileN / 64>(stage + G::kABytes, b, {problem.k, problem.n}, k,
                                              column);
      } else {
        CopyPanels<C::kTileN, C::kTileK / 64>(stage + G::kABytes, b, {problem.n, problem.k}, column,
                                              k);
      }
      ptx::cp_async_mbarrier_arrive(cta.full + ring.stage * 8);
    }
  });
}

// Waits until the stage is free, and has its barrier expect what will be loaded into it. Run by the
// thread that loads.
template <class C>
WS_DEVICE void ClaimStage(const Cta& cta, const RingPosition<C::kStages>& ring) {
  ptx::mbarrier_wait_parity(cta.empty + ring.stage * 8, ring.parity ^ 1);
  ptx::mbarrier_arrive_expect_tx(cta.full + ring.stage * 8, Geometry<C>::kStageBytes);
}

// Run by one thread, which has claimed stage 0.
template <class C>
WS_DEVICE void Produce(const Cta& cta, const TensorMap* a, const TensorMap* b,
                       const Problem& problem, const Work& work) {
  using G = Geometry<C>;
  RingPosition<C::kStages> ring;
  ForEachTile<C>(cta, problem, work.first, [&](int row, int column, bool more) {
    for (int block = work.blocks.begin; block < work.blocks.end; ++block) {
      const u32 stage = cta.shared + ring.stage * G::kStageBytes;
      const u32 full = cta.full + ring.stage * 8;
      LoadA<C>(cta, a, stage, full, row, block * C::kTileK);
      LoadB<C>(cta, b, stage + G::kABytes, full, column, block * C::kTileK);
      ring.Advance();
      if (more || block + 1 < work.blocks.end) ClaimStage<C>(cta, ring);
    }
  });
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_LOAD_CUH_
