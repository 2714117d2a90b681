// Split K of the wgmma family, on two levels. The CTAs of a cluster that share a tile (splits) send
// each other partial sums through distributed shared memory. Clusters that share a tile (slices)
// leave theirs in global memory, and a second kernel adds them up. Both add in rank order.
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

// Gives every split its 1/kSplits of the columns, once their stages are free on all CTAs. The way
// between CTAs is narrow, so this CTA's own share does not take it; nobody but the thread that put
// it there reads it.
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
        const u32 offset = InboxOffset<C>(cta.split, group, r, own);
        const float* const share = sum.value[r] + (split * kOwn + own) * 4;
        if (split == cta.split) {
          ptx::st_shared_v4(cta.shared + offset, share);
        } else {
          ptx::st_async_v4(to + offset, share, to + (cta.inbox - cta.shared));
        }
      }
    }
  }
}

// Columns of the partial sums that slices leave in global memory: rows of whole 16-byte groups.
WS_DEVICE int PartialsPitch(const Problem& problem) { return (problem.n + 7) / 8 * 8; }

// 64 rows of kBlocks n8 blocks of one slice's sums. Partials are [slice][M][pitch] FP32.
template <int kBlocks>
WS_DEVICE void StorePartials(float* partials, const Problem& problem, int slice, int row,
                             int column, const float (&sum)[kBlocks * 4]) {
  const int pitch = PartialsPitch(problem);
  const int own_row = row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const int own_column = column + threadIdx.x % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = own_row + half * 8;
    if (r >= problem.m) continue;
    float* const line = partials + (static_cast<u64>(slice) * problem.m + r) * pitch;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const int x = own_column + block * 8;
      const float* v = sum + block * 4 + half * 2;
      if (x < pitch) ptx::st_global_v2(line + x, v[0], v[1]);
    }
  }
}

// 64 rows of kBlocks n8 blocks to C, or to where the slices meet.
template <class C, int kBlocks>
WS_DEVICE void StoreSums(const Cta& cta, const Problem& problem, const Output& output, int row,
                         int column, const float (&sum)[kBlocks * 4]) {
  if constexpr (C::kSlices > 1) {
    StorePartials<kBlocks>(output.partials, problem, cta.slice, row, column, sum);
  } else {
    StoreDirect<C, kBlocks>(output.pointer, problem, row, column, sum);
  }
}

// Adds up this CTA's 1/kSplits of the columns in rank order and stores them.
template <class C>
WS_DEVICE void ReduceSplits(const Cta& cta, const Warpgroup& group, const Problem& problem,
                            const Output& output, int row, int column, const Accumulators<C>& sum) {
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
    StoreSums<C, kOwn>(cta, problem, output, row + r * 64, column + cta.split * kOwn * 8, total);
  }
}

// The body of the second kernel: four columns of one row a thread, slices added in order. It may
// begin while the first kernel runs.
template <class C>
WS_DEVICE void SumSlices(const float* partials, u16* c, int m, int n) {
  if constexpr (C::kOverlap == 1) ptx::griddepcontrol_launch_dependents();
  const Problem problem{m, n, 0};
  const u64 groups_across = PartialsPitch(problem) / 4;
  const u64 group = static_cast<u64>(blockIdx.x) * C::kSumThreads + threadIdx.x;
  const u64 slice_floats = static_cast<u64>(m) * groups_across * 4;
  const u64 row = group / groups_across;
  const int column = static_cast<int>(group % groups_across) * 4;
  ptx::griddepcontrol_wait();
  if constexpr (C::kOverlap == 2) ptx::griddepcontrol_launch_dependents();
  if (row >= static_cast<u64>(m) || column >= n) return;
  float part[C::kSlices][4];
#pragma unroll
  for (int slice = 0; slice < C::kSlices; ++slice) {
    ptx::ld_global_v4(part[slice], partials + slice * slice_floats + group * 4);
  }
#pragma unroll
  for (int slice = 1; slice < C::kSlices; ++slice) {
#pragma unroll
    for (int i = 0; i < 4; ++i) part[0][i] += part[slice][i];
  }
  const u32 low = ptx::cvt_x2_f32<C::kBf16>(part[0][0], part[0][1]);
  const u32 high = ptx::cvt_x2_f32<C::kBf16>(part[0][2], part[0][3]);
  u16* const out = c + row * n + column;
  if (n % 4 == 0) {
    ptx::st_global_v2(out, low, high);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const u32 pair = i < 2 ? low : high;
    if (column + i < n) out[i] = static_cast<u16>(i % 2 == 0 ? pair : pair >> 16);
  }
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_SPLIT_CUH_
