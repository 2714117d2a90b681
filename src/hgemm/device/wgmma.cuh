// Warp-specialised HGEMM for sm_90a: C = A*B, FP16 in and out, FP32 accumulation.
//
// A is M x K row-major; B is K x N row-major (NN) or stored as N x K row-major (TN); C is M x N
// row-major. One producer warp feeds a ring of shared-memory stages by TMA; 1..3 consumer
// warpgroups multiply with wgmma, one group in flight, and write C. Products are exact and summed
// in FP32 in a fixed order (splits in rank order), so a configuration is bitwise reproducible.
//
// A configuration is a struct of constants (see the checks in Geometry for what is legal):
//   kTileM, kTileN, kTileK     the CTA's tile; kTileK is 64 or 128
//   kStages                    2..8 stages in the ring
//   kConsumers                 warpgroups; they divide M where tile_m/64 allows, else N
//   kProducerWarps             1, or 4: a whole warpgroup, so that setmaxnreg can move registers
//   kClusterM, kClusterN       1 or 2: tiles that share B (along M) or A (along N) by multicast
//   kSplits                    1, 2, 4, 8: CTAs of a cluster that share one tile, each a K range
//   kRasterGroup, kRasterAlongM  order of tiles, see RasterTile
//   kPersistent                the grid walks over all tiles; else one tile a CTA
//   kCtasPerSm                 1 or 2, for the register budget
//   kTmaStore                  C through shared memory and TMA; else straight from registers
//   kStreamC                   C leaves L2 first (evict_first), for C that outgrows it
//   kStorePanels               panels of C staged per warpgroup (persistent TMA store only)
//   kRowMajorB                 NN; else TN
//
// Launch: block = kThreads, cluster = kClusterSize, dynamic shared memory = kSharedBytes, grid =
// kClusterSize * clusters, where clusters = ceil(ceil(M/kTileM)/kClusterM) *
// ceil(ceil(N/kTileN)/kClusterN), or fewer if kPersistent. Arguments: tensor maps of A and B, then
// the map of C (kTmaStore) or the pointer to C, then int M, N, K. Maps (innermost first, FP16):
//   A      dims {K, M}  stride {2K}  box {64, kTileM / kClusterN}   swizzle 128B
//   B TN   dims {K, N}  stride {2K}  box {64, kTileN / kClusterM}   swizzle 128B
//   B NN   dims {N, K}  stride {2N}  box {64, kTileK / kClusterM}   swizzle 128B
//   C      dims {N, M}  stride {2N}  box {kPanelCols, 64}  swizzle 128B (64 columns) or 64B (32)
// TMA zero-fills loads and clips stores at the edges, so any M, N, K do, as long as strides are
// multiples of 16 bytes: K%8 == 0, and N%8 == 0 for NN or for the TMA store. Every split needs a
// k-block: ceil(K/kTileK) >= kSplits.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_CUH_

#include "ptx_sm90.cuh"

namespace warpsmith {

// Shared memory, from a 1024-byte boundary:
//
//   stage 0 | stage 1 | ... | C staging, one part a warpgroup | full[kStages] | empty[kStages]
//     |                         (kPersistent && kTmaStore)
//     A: kTileK/64 panels of kTileM rows of 128 B
//     B: TN kTileK/64 panels of kTileN rows (n) of 128 B; NN kTileN/64 panels of kTileK rows (k)
//
// Without kPersistent the stages are free once the only tile is summed, and C (or the splits' FP32
// partials) is staged there. All rows are swizzled as the tensor maps say.
//
//   full[s]   the producer's one arrival, and kStageBytes landing. Consumers wait for it.
//   empty[s]  every consumer warp of this CTA and of the CTAs that this CTA multicasts to or shares
//             a multicast with. The producer waits for it before it fills stage s again.
template <class C>
struct Geometry {
  static constexpr int kClusterSize = C::kClusterM * C::kClusterN * C::kSplits;
  static constexpr bool kMulticast = C::kClusterM * C::kClusterN > 1;
  // CTAs that receive a part of this CTA's loads, itself included.
  static constexpr int kPeers = C::kClusterM + C::kClusterN - 1;

  static constexpr int kThreads = C::kConsumers * 128 + C::kProducerWarps * 32;
  static constexpr int kWarpgroupsM =
      C::kTileM / 64 % C::kConsumers == 0 ? C::kConsumers : 1;
  static constexpr int kWarpgroupsN = C::kConsumers / kWarpgroupsM;
  static constexpr int kWarpgroupM = C::kTileM / kWarpgroupsM;
  static constexpr int kWarpgroupN = C::kTileN / kWarpgroupsN;
  static constexpr int kRepeats = kWarpgroupM / 64;         // m64 instructions a warpgroup
  static constexpr int kAccumulators = kWarpgroupN / 2;     // registers a thread and repeat

  static constexpr int kABytes = C::kTileM * C::kTileK * 2;
  static constexpr int kStageBytes = kABytes + C::kTileN * C::kTileK * 2;
  static constexpr int kRingBytes = C::kStages * kStageBytes;

  static constexpr bool kStaged = C::kPersistent && C::kTmaStore;
  static constexpr int kPanelCols = kWarpgroupN % 64 == 0 ? 64 : 32;
  static constexpr int kPanelBytes = 64 * kPanelCols * 2;
  static constexpr int kPanelsAcross = kWarpgroupN / kPanelCols;
  static constexpr int kPanels = kRepeats * kPanelsAcross;
  static constexpr int kPanelBuffers = kStaged ? C::kStorePanels : kPanels;
  static constexpr int kStagingBytes = kPanelBuffers * kPanelBytes;  // of one warpgroup

  static constexpr int kBarrierOffset =
      kRingBytes + (kStaged ? C::kConsumers * kStagingBytes : 0);
  static constexpr int kSharedBytes = kBarrierOffset + 16 * C::kStages;

  static_assert(kWarpgroupM % 64 == 0 && C::kTileK % 64 == 0);
  static_assert(!C::kRowMajorB || kWarpgroupN % 64 == 0, "N-major B comes in 64-column panels");
  static_assert(kPanels % kPanelBuffers == 0, "each tile must start at staging buffer 0");
  static_assert(kStaged || !C::kTmaStore || C::kConsumers * kStagingBytes <= kRingBytes);
  static_assert(C::kSplits == 1 || (!C::kPersistent && !C::kTmaStore));
  static_assert(C::kSplits == 1 || C::kTileM * C::kTileN * 4 <= kRingBytes);
  static_assert(kWarpgroupN / 8 % C::kSplits == 0 && kClusterSize <= 8);
  static_assert(kSharedBytes <= 232448 / C::kCtasPerSm);
};

struct Problem {
  int m, n, k;
};

struct Tile {
  int m, n;
};

// Where this thread's CTA stands in its cluster, and the addresses it works with.
struct Cta {
  u32 shared;              // base of dynamic shared memory
  u32 full, empty;         // barriers of stage 0
  u32 peer_empty;          // multicast: empty[0] of the peer this lane answers to
  int split, row, column;  // position in the cluster
  int rank_of_split;       // rank of (row 0, column 0) of this split

  WS_DEVICE int Rank(int r, int c, int columns) const { return rank_of_split + r * columns + c; }
};

// Position in the ring; the parity flips when the ring wraps, never per tile.
template <int kStages>
struct RingPosition {
  u32 stage = 0, parity = 0;

  WS_DEVICE void Advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Tiles in patches: kRasterGroup lines side by side, walked along M or N and back in the next group,
// so that CTAs that run together share rows of A and columns of B in L2.
template <class C>
WS_DEVICE Tile RasterTile(int index, Tile grid) {
  const int lines = C::kRasterAlongM ? grid.n : grid.m;
  const int length = C::kRasterAlongM ? grid.m : grid.n;
  const int group = index / (C::kRasterGroup * length);
  const int in_group = index - group * C::kRasterGroup * length;
  const int width = min(C::kRasterGroup, lines - group * C::kRasterGroup);
  const int step = in_group / width;
  const int line = group * C::kRasterGroup + in_group - step * width;
  const int position = group % 2 ? length - 1 - step : step;
  return C::kRasterAlongM ? Tile{position, line} : Tile{line, position};
}

template <class C>
WS_DEVICE Tile ClusterGrid(const Problem& problem) {
  return {(problem.m + C::kTileM * C::kClusterM - 1) / (C::kTileM * C::kClusterM),
          (problem.n + C::kTileN * C::kClusterN - 1) / (C::kTileN * C::kClusterN)};
}

// Calls body(row, column) with the origin of every tile of this CTA. Tiles beyond C's edge (odd
// counts in clusters) are worked like others: they read zeros and store nothing.
template <class C, class Body>
WS_DEVICE void ForEachTile(const Cta& cta, const Problem& problem, Body&& body) {
  const Tile grid = ClusterGrid<C>(problem);
  const int tiles = grid.m * grid.n;
  int index = blockIdx.x / Geometry<C>::kClusterSize;
  do {
    const Tile tile = RasterTile<C>(index, grid);
    body((tile.m * C::kClusterM + cta.row) * C::kTileM,
         (tile.n * C::kClusterN + cta.column) * C::kTileN);
    index += gridDim.x / Geometry<C>::kClusterSize;
  } while (C::kPersistent && index < tiles);
}

// The k-blocks [begin, end) of this CTA's split.
struct BlockRange {
  int begin, end;
};

template <class C>
WS_DEVICE BlockRange KBlocks(const Cta& cta, const Problem& problem) {
  const int blocks = (problem.k + C::kTileK - 1) / C::kTileK;
  return {blocks * cta.split / C::kSplits, blocks * (cta.split + 1) / C::kSplits};
}

// ---- producer -----------------------------------------------------------------------------------

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

// Run by one thread.
template <class C>
WS_DEVICE void Produce(const Cta& cta, const TensorMap* a, const TensorMap* b,
                       const Problem& problem) {
  using G = Geometry<C>;
  const BlockRange blocks = KBlocks<C>(cta, problem);
  RingPosition<C::kStages> ring;
  ForEachTile<C>(cta, problem, [&](int row, int column) {
    for (int block = blocks.begin; block < blocks.end; ++block, ring.Advance()) {
      const u32 stage = cta.shared + ring.stage * G::kStageBytes;
      const u32 full = cta.full + ring.stage * 8;
      ptx::mbarrier_wait_parity(cta.empty + ring.stage * 8, ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, G::kStageBytes);
      LoadA<C>(cta, a, stage, full, row, block * C::kTileK);
      LoadB<C>(cta, b, stage + G::kABytes, full, column, block * C::kTileK);
    }
  });
}

// ---- consumers: main loop -----------------------------------------------------------------------

// Low word of an operand's descriptor: address / 16 and, for N-major B, the distance of its 64-column
// panels / 16 from bit 16 on. In a cluster the address carries the CTA's rank from bit 24 on.
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
      ptx::wgmma_mma_async<G::kWarpgroupN, C::kRowMajorB>(
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

// Sums the k-blocks of one tile. One wgmma group stays in flight, so a stage is released one
// k-block late.
template <class C>
WS_DEVICE void MultiplyTile(const Cta& cta, const BlockRange& blocks, u32 a, u32 b,
                            RingPosition<C::kStages>& ring, Accumulators<C>& sum) {
  using G = Geometry<C>;
  u32 previous = 0;
  for (int block = blocks.begin; block < blocks.end; ++block, ring.Advance()) {
    ptx::mbarrier_wait_parity(cta.full + ring.stage * 8, ring.parity);
    const u32 offset = ring.stage * (G::kStageBytes / 16);
    ptx::wgmma_fence();
    MultiplyBlock<C>(sum, a + offset, b + offset, block > blocks.begin);
    ptx::wgmma_commit_group();
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

// ---- consumers: epilogues -----------------------------------------------------------------------

struct Warpgroup {
  int index, row, column;  // row and column: origin of its part in the CTA's tile

  WS_DEVICE void Sync() const { ptx::bar_sync(1 + index, 128); }
};

inline constexpr u32 kAllConsumersBarrier = 8;

// Writes 64 rows x kPanelCols columns of accumulators (those of n8 blocks from `first` on) as
// swizzled FP16 rows. stmatrix takes a row address from every lane: matrices 0 and 1 are the warp's
// rows 0-7 and 8-15 of one n8 block, 2 and 3 those of the next.
template <int kPanelCols>
WS_DEVICE void WritePanel(u32 panel, const float* first) {
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x % 128 / 32 * 16 + lane % 16;
  const int swizzle = kPanelCols == 64 ? row % 8 : row / 2 % 4;
  const u32 row_address = panel + row * kPanelCols * 2;
#pragma unroll
  for (int chunk = 0; chunk < kPanelCols / 8; chunk += 2) {
    const float* v = first + chunk * 4;
    ptx::stmatrix_x4(row_address + (((chunk + lane / 16) ^ swizzle) * 16),
                     ptx::cvt_f16x2_f32(v[0], v[1]), ptx::cvt_f16x2_f32(v[2], v[3]),
                     ptx::cvt_f16x2_f32(v[4], v[5]), ptx::cvt_f16x2_f32(v[6], v[7]));
  }
}

// One warpgroup's part of C through kPanelBuffers staging buffers. Thread 0 of the warpgroup issues
// every store, so its bulk groups tell which buffers are still being read.
template <class C>
WS_DEVICE void StoreByTma(const Warpgroup& group, const TensorMap* map, u32 staging, int row,
                          int column, const Accumulators<C>& sum) {
  using G = Geometry<C>;
  constexpr bool kRing = G::kPanelBuffers < G::kPanels;
  const bool issuer = threadIdx.x % 128 == 0;
#pragma unroll
  for (int panel = 0; panel < G::kPanels; ++panel) {
    if (G::kStaged && (kRing || panel == 0)) {  // the buffer's last store has been read
      if (issuer) ptx::cp_async_bulk_wait_group_read<kRing ? G::kPanelBuffers - 1 : 0>();
      group.Sync();
    }
    const u32 buffer = staging + panel % G::kPanelBuffers * G::kPanelBytes;
    const int across = panel % G::kPanelsAcross;
    WritePanel<G::kPanelCols>(
        buffer, sum.value[panel / G::kPanelsAcross] + across * G::kPanelCols / 2);
    if (!kRing && panel + 1 < G::kPanels) continue;
    ptx::fence_proxy_async_shared();
    group.Sync();  // all of the warpgroup's rows are written and visible to the copy engine
    if (!issuer) continue;
#pragma unroll
    for (int p = kRing ? panel : 0; p <= panel; ++p) {
      ptx::cp_async_bulk_tensor_2d_store<C::kStreamC>(
          map, column + p % G::kPanelsAcross * G::kPanelCols, row + p / G::kPanelsAcross * 64,
          staging + p % G::kPanelBuffers * G::kPanelBytes);
    }
    ptx::cp_async_bulk_commit_group();
  }
}

// Transposes 4x4 words among the four lanes of a quad: lane q gets word q of each of them.
WS_DEVICE void TransposeQuad(u32 (&word)[4]) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      const u32 received = __shfl_xor_sync(0xffffffff, upper ? word[i] : word[i | bit], bit);
      if (upper) {
        word[i] = received;
      } else {
        word[i | bit] = received;
      }
    }
  }
}

// One row of n8 blocks, straight from registers; v points at this row's pair in the first block.
// N%8 == 0: 16-byte stores of whole n8 blocks where four of them are at hand, else 4-byte stores.
template <bool kStream, int kBlocks>
WS_DEVICE void StoreRow(u16* c, const Problem& problem, int row, int column, const float* v) {
  const int quad_lane = threadIdx.x % 4;
  u16* const line = c + static_cast<u64>(row) * problem.n;
#pragma unroll
  for (int block = 0; block + 4 <= kBlocks; block += 4) {
    u32 word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      word[i] = ptx::cvt_f16x2_f32(v[(block + i) * 4], v[(block + i) * 4 + 1]);
    }
    TransposeQuad(word);
    const int x = column + (block + quad_lane) * 8;
    if (row < problem.m && x < problem.n) ptx::st_global_v4<kStream>(line + x, word);
  }
#pragma unroll
  for (int block = kBlocks / 4 * 4; block < kBlocks; ++block) {
    const int x = column + block * 8 + quad_lane * 2;
    if (row < problem.m && x < problem.n) {
      *reinterpret_cast<u32*>(line + x) = ptx::cvt_f16x2_f32(v[block * 4], v[block * 4 + 1]);
    }
  }
}

// The same for any N: element by element.
template <int kBlocks>
WS_DEVICE void StoreRowUnaligned(u16* c, const Problem& problem, int row, int column,
                                 const float* v) {
  if (row >= problem.m) return;
  u16* const line = c + static_cast<u64>(row) * problem.n;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const int x = column + block * 8 + threadIdx.x % 4 * 2;
    const u32 pair = ptx::cvt_f16x2_f32(v[block * 4], v[block * 4 + 1]);
    if (x < problem.n) line[x] = static_cast<u16>(pair);
    if (x + 1 < problem.n) line[x + 1] = static_cast<u16>(pair >> 16);
  }
}

// 64 rows of kBlocks n8 blocks from `row`, `column` on.
template <class C, int kBlocks>
WS_DEVICE void StoreDirect(u16* c, const Problem& problem, int row, int column,
                           const float (&sum)[kBlocks * 4]) {
  const int own_row = row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (C::kRowMajorB || problem.n % 8 == 0) {
      StoreRow<C::kStreamC, kBlocks>(c, problem, own_row + half * 8, column, sum + half * 2);
    } else {
      StoreRowUnaligned<kBlocks>(c, problem, own_row + half * 8, column, sum + half * 2);
    }
  }
}

// ---- split K ------------------------------------------------------------------------------------

// Leaves this thread's accumulators in shared memory, n8 block by n8 block, 16 bytes a thread, so
// that the same thread of any CTA finds them at the same place.
template <class C>
WS_DEVICE u32 PartialOffset(int group, int repeat, int block) {
  using G = Geometry<C>;
  const int blocks_before = (group * G::kRepeats + repeat) * (G::kWarpgroupN / 8) + block;
  return (blocks_before * 128 + threadIdx.x % 128) * 16;
}

// Every CTA of the cluster adds up, in rank order, its 1/kSplits of the columns and stores them.
template <class C>
WS_DEVICE void ReduceSplits(const Cta& cta, const Warpgroup& group, const Problem& problem, u16* c,
                            int row, int column, const Accumulators<C>& sum) {
  using G = Geometry<C>;
  constexpr int kBlocks = G::kWarpgroupN / 8;
  constexpr int kOwn = kBlocks / C::kSplits;
  constexpr int kStride = C::kClusterM * C::kClusterN;  // ranks between splits
  ptx::bar_sync(kAllConsumersBarrier, C::kConsumers * 128);  // nobody reads the ring any more
#pragma unroll
  for (int r = 0; r < G::kRepeats; ++r) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      ptx::st_shared_v4(cta.shared + PartialOffset<C>(group.index, r, block),
                        sum.value[r] + block * 4);
    }
  }
  ptx::barrier_cluster_arrive();  // all partials of the cluster are written
  ptx::barrier_cluster_wait();
  const int own_rank = cta.Rank(cta.row, cta.column, C::kClusterN);
#pragma unroll
  for (int r = 0; r < G::kRepeats; ++r) {
    float total[kOwn * 4] = {};
#pragma unroll
    for (int split = 0; split < C::kSplits; ++split) {
      const u32 partials = ptx::mapa(cta.shared, own_rank + (split - cta.split) * kStride);
#pragma unroll
      for (int block = 0; block < kOwn; ++block) {
        float part[4];
        ptx::ld_shared_cluster_v4(
            part, partials + PartialOffset<C>(group.index, r, cta.split * kOwn + block));
#pragma unroll
        for (int i = 0; i < 4; ++i) total[block * 4 + i] += part[i];
      }
    }
    StoreDirect<C, kOwn>(c, problem, row + r * 64, column + cta.split * kOwn * 8, total);
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

// C as the configuration stores it: a tensor map (kTmaStore) or a pointer.
struct Output {
  const TensorMap* map;
  u16* pointer;
};

template <class C>
WS_DEVICE void StoreTile(const Cta& cta, const Warpgroup& group, const Problem& problem,
                         const Output& output, int row, int column, const Accumulators<C>& sum) {
  using G = Geometry<C>;
  if constexpr (C::kSplits > 1) {
    ReduceSplits<C>(cta, group, problem, output.pointer, row, column, sum);
  } else if constexpr (C::kTmaStore) {
    // Without a staging area of its own, C goes where the stages were, once nobody reads them.
    if constexpr (!G::kStaged) ptx::bar_sync(kAllConsumersBarrier, C::kConsumers * 128);
    const u32 staging = cta.shared + (G::kStaged ? G::kRingBytes : 0);
    StoreByTma<C>(group, output.map, staging + group.index * G::kStagingBytes, row, column, sum);
  } else {
#pragma unroll
    for (int r = 0; r < G::kRepeats; ++r) {
      StoreDirect<C, G::kWarpgroupN / 8>(output.pointer, problem, row + r * 64, column,
                                         sum.value[r]);
    }
  }
}

template <class C>
WS_DEVICE void Consume(const Cta& cta, int warp, const Output& output, const Problem& problem) {
  using G = Geometry<C>;
  Warpgroup group;
  group.index = warp / 4;
  group.row = group.index / G::kWarpgroupsN * G::kWarpgroupM;
  group.column = group.index % G::kWarpgroupsN * G::kWarpgroupN;
  const BlockRange blocks = KBlocks<C>(cta, problem);
  const u32 a = WgmmaDescriptorLow(cta.shared + group.row * 128, 0);
  const u32 b_columns = C::kRowMajorB ? group.column / 64 * C::kTileK * 128 : group.column * 128;
  const u32 b = WgmmaDescriptorLow(cta.shared + G::kABytes + b_columns,
                                   C::kRowMajorB ? C::kTileK * 128 : 0);
  RingPosition<C::kStages> ring;
  ForEachTile<C>(cta, problem, [&](int row, int column) {
    Accumulators<C> sum;
    MultiplyTile<C>(cta, blocks, a, b, ring, sum);
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
  const int rank = G::kClusterSize > 1 ? ptx::cluster_ctarank() : 0;
  cta.split = rank / (C::kClusterM * C::kClusterN);
  cta.rank_of_split = cta.split * (C::kClusterM * C::kClusterN);
  cta.row = (rank - cta.rank_of_split) / C::kClusterN;
  cta.column = (rank - cta.rank_of_split) % C::kClusterN;
  if constexpr (G::kMulticast) {
    // Lanes 0..kClusterN-1 answer to the CTAs of this row, the next one to the other row's.
    const int lane = threadIdx.x % 32;
    const int peer = lane < C::kClusterN
                         ? cta.Rank(cta.row, lane, C::kClusterN)
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
    ptx::mbarrier_init(cta.full + stage * 8, 1);
    ptx::mbarrier_init(cta.empty + stage * 8, C::kConsumers * 4 * Geometry<C>::kPeers);
  }
  ptx::fence_mbarrier_init();
}

// All threads of the cluster.
WS_DEVICE void SyncCluster() {
  __syncwarp();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

inline constexpr u32 kStartBarrier = 9;

// Barriers are ready before anyone waits on them and, in a cluster, everywhere before any TMA or
// remote arrival. Without a cluster the producer, who made them, need not wait for the consumers.
template <class C>
WS_DEVICE void SyncStart(bool producer) {
  if constexpr (Geometry<C>::kClusterSize > 1) {
    SyncCluster();
  } else if (producer) {
    __syncwarp();
    ptx::bar_arrive(kStartBarrier, Geometry<C>::kThreads);
  } else {
    ptx::bar_sync(kStartBarrier, Geometry<C>::kThreads);
  }
}

// Registers a thread after setmaxnreg: the sums must fit what the launch allocated (168 and 128).
template <class C>
inline constexpr int kConsumerRegisters = C::kConsumers == 3 ? 160 : 240;
template <class C>
inline constexpr int kProducerRegisters = C::kConsumers == 3 ? 32 : 24;

template <class C>
WS_DEVICE void WgmmaGemm(const TensorMap* a, const TensorMap* b, Output output, Problem problem) {
  using G = Geometry<C>;
  constexpr bool kMoveRegisters = C::kProducerWarps == 4 && C::kConsumers > 1;
  extern __shared__ __align__(1024) char shared[];
  const Cta cta = MakeCta<C>(ptx::cvta_to_shared(shared));
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp >= C::kConsumers * 4) {
    const bool leader = warp == C::kConsumers * 4 && ptx::elect_sync();
    if (leader) {
      ptx::prefetch_tensormap(a);
      ptx::prefetch_tensormap(b);
      if (C::kTmaStore) ptx::prefetch_tensormap(output.map);
      InitBarriers<C>(cta);
    }
    SyncStart<C>(true);
    if constexpr (kMoveRegisters) ptx::setmaxnreg_dec<kProducerRegisters<C>>();
    if (leader) Produce<C>(cta, a, b, problem);
    if constexpr (C::kSplits > 1) SyncCluster();  // the one in ReduceSplits
  } else {
    SyncStart<C>(false);
    if constexpr (kMoveRegisters) ptx::setmaxnreg_inc<kConsumerRegisters<C>>();
    Consume<C>(cta, warp, output, problem);
  }
  // No CTA leaves while another may arrive on its barriers or read its partials.
  if constexpr (G::kClusterSize > 1) SyncCluster();
}

}  // namespace warpsmith

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_CUH_
