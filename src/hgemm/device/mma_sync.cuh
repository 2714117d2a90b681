// HGEMM for any M, N, K >= 1: C = A*B, f16 or bf16 in and out, f32 accumulation. A is MxK
// row-major; B is KxN row-major ("NN") or column-major ("TN", stored NxK); C is MxN row-major. A
// ring of cp.async stages, ldmatrix, mma.sync m16n8k16: runs from sm_80 on. Only Split::kCluster
// needs sm_90.
//
// Dynamic shared memory, reused from phase to phase:
//   main loop   | stage 0: A [kBM rows x kBK] B | stage 1: A B | ... | stage kStages-1 |
//               B is [kBN rows x kBK] for TN and [kBK rows x kBN] for NN; 16-byte chunks of a row
//               are XOR-swizzled so that the 8 rows of an ldmatrix hit 8 different bank groups.
//   K split     | warp group 1: f32 [fragment][thread] float4 | group 2 | ... |   (kWarpsK > 1)
//   epilogue    | warp 0: 16 rows of kWarpN halves, padded by 16 bytes | warp 1 | ... |
// and behind it, never reused, the inbox of a cluster (Split::kCluster), one f32 tile.
//
// All sums are taken in a fixed order: a configuration is bitwise repeatable.
#ifndef WARPSMITH_HGEMM_DEVICE_MMA_SYNC_CUH_
#define WARPSMITH_HGEMM_DEVICE_MMA_SYNC_CUH_

#include "mma_sync_copy.cuh"
#include "mma_sync_store.cuh"
#include "mma_sync_tile.cuh"

namespace warpsmith::hgemm::mma_sync {

// ---- shared to registers, and the product ------------------------------------------------------

template <class C>
struct Fragments {
  uint32_t a[Derived<C>::kTilesI][4];
  uint32_t b[Derived<C>::kTilesJ / 2][4];  // words: k low, k high of column block j; of j + 1
};

template <class C>
__device__ __forceinline__ void LoadFragments(Fragments<C>& f, uint32_t stage, const WarpPlace& w,
                                              int step) {
  using D = Derived<C>;
  const int k16 = w.first_step + step;
#pragma unroll
  for (int i = 0; i < D::kTilesI; ++i) {
    const int row = w.row + i * 16 + w.lane % 16;
    ptx::ldmatrix_x4_m8n8_b16(f.a[i],
                              stage + SwizzledOffset<C::kBK / 8>(row, k16 * 2 + w.lane / 16));
  }
  stage += D::kABytes;
#pragma unroll
  for (int j = 0; j < D::kTilesJ / 2; ++j) {
    if constexpr (C::kBColumnMajor) {
      const int row = w.column + j * 16 + w.lane / 16 * 8 + w.lane % 8;
      ptx::ldmatrix_x4_m8n8_b16(f.b[j],
                                stage + SwizzledOffset<C::kBK / 8>(row, k16 * 2 + w.lane / 8 % 2));
    } else {
      const int row = k16 * 16 + w.lane % 16;
      ptx::ldmatrix_x4_trans_m8n8_b16(
          f.b[j], stage + SwizzledOffset<C::kBN / 8>(row, w.column / 8 + j * 2 + w.lane / 16));
    }
  }
}

template <class C>
__device__ __forceinline__ void Multiply(Accumulator<C>& acc, const Fragments<C>& f) {
  using D = Derived<C>;
#pragma unroll
  for (int i = 0; i < D::kTilesI; ++i) {
#pragma unroll
    for (int s = 0; s < D::kTilesJ; ++s) {
      // Snake order: the next instruction shares an operand with the last one.
      const int j = i % 2 == 0 ? s : D::kTilesJ - 1 - s;
      ptx::mma_m16n8k16_f32<C::kBf16>(acc[i][j], f.a[i][0], f.a[i][1], f.a[i][2], f.a[i][3],
                                      f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

// Each k-block: its fragments are loaded one k16 step ahead; the copy of the block kStages - 1
// ahead goes into the stage read one block ago, which every warp has left at the last barrier.
template <class C>
__device__ __forceinline__ void MainLoop(Accumulator<C>& acc, const Problem<C>& problem,
                                         const Tile& tile, uint32_t ring) {
  using D = Derived<C>;
  Producer<C> producer(problem, tile, ring);
#pragma unroll
  for (int block = 0; block < C::kStages - 1; ++block) {
    producer.Start();
    producer.Finish();
  }
  const WarpPlace w = LocateWarp<C>();
  Stage<C> stage{ring, 0};
  ptx::cp_async_wait_group<C::kStages - 2>();  // this thread's part of block 0 has landed
  __syncthreads();                             // all threads wait for everyone's part of block 0
  Fragments<C> f[2];
  LoadFragments<C>(f[0], stage.Address(), w, 0);
#pragma unroll 1
  for (int block = 0; block < tile.blocks; ++block) {
#pragma unroll
    for (int step = 0; step < D::kSteps; ++step) {
      if (step == 0) producer.Start();
      if (step == D::kSteps - 1) {
        producer.Finish();
        stage.Advance();
        ptx::cp_async_wait_group<C::kStages - 2>();
        __syncthreads();  // the next block is there, and no warp reads this one's stage any more
      }
      LoadFragments<C>(f[(step + 1) % 2], stage.Address(), w, (step + 1) % D::kSteps);
      Multiply<C>(acc, f[step % 2]);
    }
  }
  ptx::cp_async_wait_group<0>();
}

// ---- the kernels ------------------------------------------------------------------------------

// The kernel body. Grid: ceil(M/kBM) * ceil(N/kBN) * kSplits CTAs along x (clusters of kSplits
// along x for Split::kCluster), kThreads threads, SharedBytes of dynamic shared memory.
template <class C>
__device__ __forceinline__ void Run(const Problem<C>& problem) {
  using D = Derived<C>;
  extern __shared__ __align__(128) unsigned char shared[];
  const uint32_t base = ptx::cvta_to_shared(shared);
  if constexpr (C::kSplit == Split::kCluster) ptx::barrier_cluster_arrive_relaxed();  // "I run"
  // The sums of Split::kWorkspace are added by a kernel that may take its place early.
  if constexpr (C::kOverlap == 2) ptx::griddepcontrol_wait();
  if constexpr (C::kOverlap || C::kEarlyReduce) ptx::griddepcontrol_launch_dependents();
  if constexpr (C::kOverlap == 1) ptx::griddepcontrol_wait();
  const Tile tile = LocateTile(problem);
  Accumulator<C> acc = {};
  MainLoop<C>(acc, problem, tile, base);
  if constexpr (C::kWarpsK > 1) AddWarpGroups<C>(acc, base);
  if constexpr (C::kSplit == Split::kCluster) {
    constexpr int kInbox = InboxOffset<C>();
    StoreClusterShare<C>(problem, tile, acc, base + kInbox);
    return;
  }
  if (threadIdx.x >= D::kGroupThreads) return;
  if constexpr (C::kSplit == Split::kWorkspace) {
    StorePartials<C>(problem, tile, acc);
  } else if constexpr (C::kEpilogue == Epilogue::kStaged) {
    // All warps have left the ring (AddWarpGroups' memory, read by the same warps, is settled too).
    ptx::bar_sync<1, D::kGroupThreads>();
    StoreStaged<C>(problem, tile, acc, base);
  } else {
    StoreDirect<C>(problem, tile, acc);
  }
}

// Second launch of Split::kWorkspace: kReduceWidth elements of C a thread, splits added in order.
template <class C>
__device__ __forceinline__ void Reduce(const float* partials, half_t* c, int m_arg, int n_arg) {
  constexpr int kWidth = kReduceWidth<C>;
  const int m = C::kM > 0 ? C::kM : m_arg, n = C::kN > 0 ? C::kN : n_arg;
  const long long count = static_cast<long long>(m) * n;
  const long long at = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth;
  if constexpr (C::kOverlap == 1) ptx::griddepcontrol_launch_dependents();
  if constexpr (C::kEarlyReduce) ptx::griddepcontrol_wait();
  if constexpr (C::kOverlap == 2) ptx::griddepcontrol_launch_dependents();
  if (at >= count) return;
  float part[C::kSplits][kWidth];
#pragma unroll
  for (int s = 0; s < C::kSplits; ++s) ptx::ld_global_f32(part[s], partials + s * count + at);
#pragma unroll
  for (int s = 1; s < C::kSplits; ++s) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) part[0][i] += part[s][i];
  }
  if constexpr (kWidth == 4) {
    ptx::st_global_v2_b32(c + at, ptx::cvt_rn_x2_f32<C::kBf16>(part[0][0], part[0][1]),
                          ptx::cvt_rn_x2_f32<C::kBf16>(part[0][2], part[0][3]));
  } else {
    ptx::st_global_b16(c + at, ptx::cvt_rn_f32<C::kBf16>(part[0][0]));
  }
}

}  // namespace warpsmith::hgemm::mma_sync

#endif  // WARPSMITH_HGEMM_DEVICE_MMA_SYNC_CUH_
