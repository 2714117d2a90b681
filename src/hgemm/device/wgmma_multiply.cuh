// The main loop of the wgmma family's consumers.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_MULTIPLY_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_MULTIPLY_CUH_

#include "wgmma_tile.cuh"

namespace warpsmith::hgemm::wgmma {

// Low word of an operand's descriptor: address / 16 and, for N-major B, the distance of its
// 64-column panels / 16 from bit 16 on. In a cluster the address carries the CTA's rank from bit 24
// on.
WS_DEVICE u32 WgmmaDescriptorLow(u32 address, u32 panel_bytes) {
  return (address & 0x3ffff) / 16 | panel_bytes / 16 << 16;
}

// Descriptor of a 128B-swizzled operand: groups of 8 rows 1024 bytes apart.
WS_DEVICE u64 WgmmaDescriptor(u32 low) { return u64{(1u << 30) | (1024u >> 4)} << 32 | low; }

template <class C>
struct Accumulators {
  float value[Geometry<C>::kRepeats][Geometry<C>::kAccumulators];

  WS_DEVICE void Pin() {
#pragma unroll
    for (int r = 0; r < Geometry<C>::kRepeats; ++r) {
#pragma unroll
      for (int i = 0; i < Geometry<C>::kAccumulators; ++i) ptx::pin_register(value[r][i]);
    }
  }
};

// Issues one k-block; a and b are the low words of the descriptors at the stage's first element.
template <class C>
WS_DEVICE void MultiplyBlock(Accumulators<C>& sum, u32 a, u32 b, bool accumulate) {
  using G = Geometry<C>;
#pragma unroll
  for (int step = 0; step < C::kTileK / 16; ++step) {
    const u32 within = step / 4 * 128 * 64 / 16;  // TN and A: next panel of 64 k, per 64 rows
    const u32 a_step = within * (C::kTileM / 64) + step % 4 * 2;
    const u32 b_step =
        C::kRowMajorB ? step * 128 : step / 4 * (C::kTileN * 128 / 16) + step % 4 * 2;
#pragma unroll
    for (int r = 0; r < G::kRepeats; ++r) {
      ptx::wgmma_mma_async<G::kWarpgroupN, C::kRowMajorB, C::kBf16>(
          sum.value[r], WgmmaDescriptor(a + a_step + r * (64 * 128 / 16)),
          WgmmaDescriptor(b + b_step), step > 0 || accumulate);
    }
  }
}

// Tells everyone who may fill this stage that this warp no longer reads it.
template <class C>
WS_DEVICE void ReleaseStage(const Cta& cta, u32 stage) {
  const int lane = threadIdx.x % 32;
  if constexpr (Geometry<C>::kMulticast) {
    if (lane < Geometry<C>::kPeers) ptx::mbarrier_arrive_cluster(cta.peer_empty + stage * 8);
  } else {
    if (lane == 0) ptx::mbarrier_arrive(cta.empty + stage * 8);
  }
}

inline constexpr u32 kSkewBarrier = 10;  // + index of the warpgroup that waits

// kPingPong: a tile's products begin when all of the tile before have been issued. More than order
// hangs on that: a wait by parity tells a phase from the one before, not from the one before that,
// so nobody may wait for a stage before its last contents have been seen by whom they were for.
inline constexpr u32 kTurnBarrier = 10;  // + index of the warpgroup that waits
struct Turn {
  bool after, before;  // another tile
};

// Sums the k-blocks of one tile. One wgmma group stays in flight, so a stage is released one
// k-block late. With kSkew, a warpgroup starts when the one before has issued kSkew k-blocks.
template <class C>
WS_DEVICE void MultiplyTile(const Cta& cta, int warpgroup, const BlockRange& blocks, u32 a, u32 b,
                            RingPosition<C::kStages>& ring, Turn turn, Accumulators<C>& sum) {
  using G = Geometry<C>;
  u32 previous = 0;
  const int lead = min(blocks.begin + C::kSkew, blocks.end) - 1;
  if (C::kSkew > 0 && warpgroup > 0) ptx::bar_sync(kSkewBarrier + warpgroup, 256);
  if (C::kPingPong && turn.after) ptx::bar_sync(kTurnBarrier + warpgroup, 256);
  for (int block = blocks.begin; block < blocks.end; ++block, ring.Advance()) {
    ptx::mbarrier_wait_parity(cta.full + ring.stage * 8, ring.parity);
    if (C::kDirectLoad) ptx::fence_proxy_async_shared();  // threads wrote what wgmma reads
    const u32 offset = ring.stage * (G::kStageBytes / 16);
    ptx::wgmma_fence();
    MultiplyBlock<C>(sum, a + offset, b + offset, block > blocks.begin);
    ptx::wgmma_commit_group();
    if (C::kSkew > 0 && block == lead && warpgroup + 1 < C::kConsumers) {
      ptx::bar_arrive(kSkewBarrier + warpgroup + 1, 256);
    }
    if (C::kPingPong && turn.before && block + 1 == blocks.end) {
      ptx::bar_arrive(kTurnBarrier + (warpgroup ^ 1), 256);
    }
    if (block > blocks.begin) {
      ptx::wgmma_wait_group<1>();
      ReleaseStage<C>(cta, previous);
    }
    previous = ring.stage;
  }
  ptx::wgmma_wait_group<0>();
  sum.Pin();
  ReleaseStage<C>(cta, previous);
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_MULTIPLY_CUH_
