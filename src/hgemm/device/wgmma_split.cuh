// Split K of the wgmma family: the CTAs of a cluster that share a tile send each other partial
// sums.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_SPLIT_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_SPLIT_CUH_

#include "wgmma_store.cuh"

namespace warpsmith::hgemm::wgmma {

// Where split `from` puts this thread's four values of the n8 block `own` of a CTA's share: all
// threads side by side, 16 bytes each.
template <class C>
WS_DEVICE u32 InboxOffset(int from, const Warpgroup& group, int repeat, int own) {
  using G = Geometry<C>;
  constexpr int kOwn = G::kWarpgroupN / 8 / C::kSplits;
  const int warpgroup = (from * C::kConsumers + group.index) * G::kRepeats + repeat;
  return ((warpgroup * kOwn + own) * 128 + threadIdx.x % 128) * 16;
}

// The base of shared memory of the CTA with the given split of this CTA's tile.
template <class C>
WS_DEVICE u32 SharedOfSplit(const Cta& cta, int split) {
  constexpr int kStride = C::kClusterM * C::kClusterN;
  return ptx::mapa(cta.shared, split * kStride + cta.row * C::kClusterN + cta.column);
}

// Sends every split its 1/kSplits of the columns, once their stages are free on all CTAs.
template <class C>
WS_DEVICE void SendPartials(const Cta& cta, const Warpgroup& group, const Accumulators<C>& sum) {
  using G = Geometry<C>;
  constexpr int kOwn = G::kWarpgroupN / 8 / C::kSplits;
  const int lane = threadIdx.x % 32;
  if (lane < C::kSplits) {
    ptx::mbarrier_arrive_cluster(SharedOfSplit<C>(cta, lane) + (cta.ready - cta.shared));
  }
  ptx::mbarrier_wait_parity(cta.ready, 0);
#pragma unroll
  for (int split = 0; split < C::kSplits; ++split) {
    const u32 to = SharedOfSplit<C>(cta, split);
#pragma unroll
    for (int r = 0; r < G::kRepeats; ++r) {
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
        ptx::st_async_v4(to + InboxOffset<C>(cta.split, group, r, own),
                         sum.value[r] + (split * kOwn + own) * 4, to + (cta.inbox - cta.shared));
      }
    }
  }
}

// Adds up this CTA's 1/kSplits of the columns in rank order and stores them.
template <class C>
WS_DEVICE void ReduceSplits(const Cta& cta, const Warpgroup& group, const Problem& problem, u16* c,
                            int row, int column, const Accumulators<C>& sum) {
  using G = Geometry<C>;
  constexpr int kOwn = G::kWarpgroupN / 8 / C::kSplits;
  __syncwarp();
  if constexpr (!G::kMulticast) ptx::barrier_cluster_wait();  // begun in SyncStart
  SendPartials<C>(cta, group, sum);
  ptx::mbarrier_wait_parity_cluster(cta.inbox, 0);
#pragma unroll
  for (int r = 0; r < G::kRepeats; ++r) {
    float total[kOwn * 4] = {};
#pragma unroll
    for (int from = 0; from < C::kSplits; ++from) {
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
        float part[4];
        ptx::ld_shared_v4(part, cta.shared + InboxOffset<C>(from, group, r, own));
#pragma unroll
        for (int i = 0; i < 4; ++i) total[own * 4 + i] += part[i];
      }
    }
    StoreDirect<C, kOwn>(c, problem, row + r * 64, column + cta.split * kOwn * 8, total);
  }
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_SPLIT_CUH_
