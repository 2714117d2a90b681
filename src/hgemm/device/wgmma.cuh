// Warp-specialised HGEMM for sm_90a: C = A*B, FP16 or BF16 in and out, FP32 accumulation.
//
// A is M x K row-major; B is K x N row-major (NN) or stored as N x K row-major (TN); C is M x N
// row-major. One producer warp feeds a ring of shared-memory stages by TMA; 1..3 consumer
// warpgroups multiply with wgmma, one group in flight, and write C. Products are exact and summed
// in FP32 in a fixed order (splits in rank order), so a configuration is bitwise reproducible.
//
// A configuration is a struct of constants (see the checks in Geometry for what is legal):
//   kTileM, kTileN, kTileK     the CTA's tile; kTileK is 64 or 128
//   kStages                    stages in the ring, from 2 on
//   kConsumers                 warpgroups; they divide M where tile_m/64 allows, else N
//   kProducerWarps             1, or 4: a whole warpgroup, so that setmaxnreg can move registers
//   kDirectLoad                4 producer warps copy through cp.async, without tensor maps: less to
//                              wait for before the first product of a small problem; no clusters
//                              that share loads, and no setmaxnreg
//   kClusterM, kClusterN       1 or 2: tiles that share B (along M) or A (along N) by multicast
//   kSplits                    1, 2, 4, 8, 16: CTAs of a cluster that share a tile, each a K range
//   kSlices                    clusters that share a tile, each a K range: their sums go to global
//                              memory and a second kernel (SumSlices) adds them
//   kSumThreads                of a CTA of SumSlices
//   kRasterGroup, kRasterAlongM  order of tiles, see RasterTile
//   kPersistent                the grid walks over all tiles; else one tile a CTA
//   kPingPong                  two consumer warpgroups work on tiles of their own, in turns, so
//   that
//                              one stores while the other multiplies (kPersistent only)
//   kSkew                      k-blocks that each warpgroup runs behind the one before, so that one
//                              stores while another multiplies; 0: free, below kStages
//   kCtasPerSm                 1..3, for the register budget
//   kTmaStore                  C through shared memory and TMA; else straight from registers
//   kStreamC                   C leaves L2 first (evict_first), for C that outgrows it
//   kStorePanels               panels of C staged per warpgroup (persistent TMA store only)
//   kRowMajorB                 NN; else TN
//   kBf16                      elements are BF16; else FP16
//   kOverlap                   1, 2: launched programmatically: it may begin before the operation
//                              ahead of it has ended, and lets the one behind it begin early: 1 as
//                              soon as it runs, 2 when the one ahead has ended, so that never more
//                              than one launch waits on the SMs
//
// Launch: block = kThreads, cluster = kClusterSize, dynamic shared memory = kSharedBytes, grid =
// kClusterSize * clusters, where clusters = ceil(ceil(M/kTileM)/kClusterM) *
// ceil(ceil(N/kTileN)/kClusterN) * kSlices, or fewer if kPersistent. Arguments: tensor maps of A
// and B (kDirectLoad: pointers), then the map of C (kTmaStore), the pointer to C, or to M * pitch *
// kSlices floats where the slices meet; then int M, N, K. Maps (innermost first, 16-bit elements):
//   A      dims {K, M}  stride {2K}  box {64, kTileM / kClusterN}   swizzle 128B
//   B TN   dims {K, N}  stride {2K}  box {64, kTileN / kClusterM}   swizzle 128B
//   B NN   dims {N, K}  stride {2N}  box {64, kTileK / kClusterM}   swizzle 128B
//   C      dims {N, M}  stride {2N}  box {kPanelCols, 64}  swizzle 128B (64 columns) or 64B (32)
// TMA zero-fills loads and clips stores at the edges, so any M, N, K do, as long as strides are
// multiples of 16 bytes: K%8 == 0, and N%8 == 0 for NN or for the TMA store. Every split needs a
// k-block: ceil(K/kTileK) >= kSplits * kSlices. With kSkew a tile must fill the ring, or a
// warpgroup could signal twice before the next one looks: ceil(K/kTileK) >= kStages.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_CUH_

#include "wgmma_load.cuh"
#include "wgmma_split.cuh"

namespace warpsmith::hgemm::wgmma {

template <class C>
WS_DEVICE void StoreTile(const Cta& cta, const Warpgroup& group, const Problem& problem,
                         const Output& output, int row, int column, const Accumulators<C>& sum) {
  using G = Geometry<C>;
  if constexpr (C::kSplits > 1) {
    ReduceSplits<C>(cta, group, problem, output, row, column, sum);
  } else if constexpr (C::kTmaStore) {
    // Without a staging area of its own, C goes where the stages were, once nobody reads them.
    if constexpr (!G::kStaged) ptx::bar_sync(kAllConsumersBarrier, C::kConsumers * 128);
    const u32 staging = cta.shared + (G::kStaged ? G::kRingBytes : 0);
    StoreByTma<C>(group, output.map, staging + group.index * G::kStagingBytes, row, column, sum);
  } else {
#pragma unroll
    for (int r = 0; r < G::kRepeats; ++r) {
      StoreSums<C, G::kWarpgroupN / 8>(cta, problem, output, row + r * 64, column, sum.value[r]);
    }
  }
}

template <class C>
WS_DEVICE void Consume(const Cta& cta, int warp, const Output& output, const Problem& problem) {
  using G = Geometry<C>;
  Warpgroup group;
  group.index = warp / 4;
  const int share = C::kPingPong ? 0 : group.index;
  group.row = share / G::kWarpgroupsN * G::kWarpgroupM;
  group.column = share % G::kWarpgroupsN * G::kWarpgroupN;
  const Work work = WorkOf<C>(cta, problem);
  const u32 a = WgmmaDescriptorLow(cta.shared + group.row * 128, 0);
  const u32 b_columns = C::kRowMajorB ? group.column / 64 * C::kTileK * 128 : group.column * 128;
  const u32 b =
      WgmmaDescriptorLow(cta.shared + G::kABytes + b_columns, C::kRowMajorB ? C::kTileK * 128 : 0);
  RingPosition<C::kStages> ring;
  int tiles = 0;
  ForEachTile<C>(cta, problem, work.first, [&](int row, int column, bool more) {
    const Turn turn{tiles > 0, more};
    const bool others = C::kPingPong && tiles++ % 2 != group.index;
    if (others) {
      ring.Skip(work.blocks.end - work.blocks.begin);
      return;
    }
    Accumulators<C> sum;
    MultiplyTile<C>(cta, group.index, work.blocks, a, b, ring, turn, sum);
    StoreTile<C>(cta, group, problem, output, row + group.row, column + group.column, sum);
  });
  if (C::kTmaStore) ptx::cp_async_bulk_wait_group_read<0>();  // the stores outlive the CTA's memory
}

template <class C>
WS_DEVICE Cta MakeCta(u32 shared) {
  using G = Geometry<C>;
  Cta cta;
  cta.shared = shared;
  cta.full = shared + G::kBarrierOffset;
  cta.empty = cta.full + C::kStages * 8;
  cta.ready = cta.empty + C::kStages * 8;
  cta.inbox = cta.ready + 8;
  const int rank = G::kClusterSize > 1 ? ptx::cluster_ctarank() : 0;
  cta.slice = blockIdx.x / G::kClusterSize % C::kSlices;
  cta.split = rank / (C::kClusterM * C::kClusterN);
  cta.rank_of_split = cta.split * (C::kClusterM * C::kClusterN);
  cta.row = (rank - cta.rank_of_split) / C::kClusterN;
  cta.column = (rank - cta.rank_of_split) % C::kClusterN;
  if constexpr (G::kMulticast) {
    // Lanes 0..kClusterN-1 answer to the CTAs of this row, the next one to the other row's.
    const int lane = threadIdx.x % 32;
    const int peer = lane < C::kClusterN ? cta.Rank(cta.row, lane, C::kClusterN)
                                         : cta.Rank(cta.row ^ 1, cta.column, C::kClusterN);
    cta.peer_empty = ptx::mapa(cta.empty, lane < G::kPeers ? peer : rank);
  }
  return cta;
}

// Run by one thread.
template <class C>
WS_DEVICE void InitBarriers(const Cta& cta) {
#pragma unroll
  for (int stage = 0; stage < C::kStages; ++stage) {
    ptx::mbarrier_init(cta.full + stage * 8, C::kDirectLoad ? C::kProducerWarps * 32 : 1);
    ptx::mbarrier_init(cta.empty + stage * 8, Geometry<C>::kSharers * 4 * Geometry<C>::kPeers);
  }
  if constexpr (C::kSplits > 1) {
    ptx::mbarrier_init(cta.ready, C::kConsumers * 4 * C::kSplits);
    ptx::mbarrier_init(cta.inbox, 1);
  }
  ptx::fence_mbarrier_init();
  if constexpr (C::kSplits > 1) {
    ptx::mbarrier_arrive_expect_tx(cta.inbox, Geometry<C>::kInboxBytes);
  }
}

// All threads of the cluster.
WS_DEVICE void SyncCluster() {
  __syncwarp();
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
}

inline constexpr u32 kStartBarrier = 9;

// Barriers are made before anyone waits on them and, with multicast, everywhere before any TMA or
// remote arrival. Otherwise the producer, who made them, need not wait for the consumers, unless
// there are many (kDirectLoad), and what splits send each other waits for the cluster only in
// ReduceSplits.
template <class C>
WS_DEVICE void SyncStart(bool producer) {
  __syncwarp();
  if constexpr (C::kSplits > 1 && !Geometry<C>::kMulticast) ptx::barrier_cluster_arrive_relaxed();
  if constexpr (Geometry<C>::kMulticast) {
    SyncCluster();
  } else if (producer && !C::kDirectLoad) {
    ptx::bar_arrive(kStartBarrier, Geometry<C>::kThreads);
  } else {
    ptx::bar_sync(kStartBarrier, Geometry<C>::kThreads);
  }
}

// Registers a thread after setmaxnreg. Three warpgroups are launched with 168 each, so the sum must
// stay below 504.
inline constexpr int kConsumerRegisters = 240, kProducerRegisters = 24;

// Operand: TensorMap, or with kDirectLoad the matrix's u16.
template <class C, class Operand>
WS_DEVICE void WgmmaGemm(const Operand* a, const Operand* b, Output output, Problem problem) {
  using G = Geometry<C>;
  constexpr bool kMoveRegisters = C::kProducerWarps == 4 && !C::kDirectLoad;
  extern __shared__ __align__(1024) char shared[];
  const Cta cta = MakeCta<C>(ptx::cvta_to_shared(shared));
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp >= C::kConsumers * 4) {
    const bool leader = warp == C::kConsumers * 4 && ptx::elect_sync();
    if (leader) {
      if constexpr (!C::kDirectLoad) {
        ptx::prefetch_tensormap(a);
        ptx::prefetch_tensormap(b);
      }
      if (C::kTmaStore) ptx::prefetch_tensormap(output.map);
      InitBarriers<C>(cta);
    }
    SyncStart<C>(true);
    if constexpr (kMoveRegisters) ptx::setmaxnreg_dec<kProducerRegisters>();
    if (leader || C::kDirectLoad) {
      const Work work = WorkOf<C>(cta, problem);
      if constexpr (C::kOverlap) work.WorkOut();
      if constexpr (!C::kDirectLoad) ClaimStage<C>(cta, {});
      // Whatever else touches global memory does so after the first loads have landed.
      if constexpr (C::kOverlap == 1) ptx::griddepcontrol_launch_dependents();
      if constexpr (C::kOverlap) ptx::griddepcontrol_wait();
      if constexpr (C::kOverlap == 2 || (C::kOverlap == 0 && C::kSlices > 1)) {
        ptx::griddepcontrol_launch_dependents();
      }
      Produce<C>(cta, a, b, problem, work);
    }
    __syncwarp();
    if constexpr (C::kSplits > 1 && !G::kMulticast) ptx::barrier_cluster_wait();
  } else {
    SyncStart<C>(false);
    if constexpr (kMoveRegisters) ptx::setmaxnreg_inc<kConsumerRegisters>();
    Consume<C>(cta, warp, output, problem);
  }
  // No CTA leaves while another may still arrive on its barriers.
  if constexpr (G::kClusterSize > 1) SyncCluster();
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_CUH_
