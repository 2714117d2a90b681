// What the roles of the wgmma family share: memory map, barriers, position in the cluster and in
// the ring, order of tiles. The family and its parameters: wgmma.cuh.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_TILE_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_TILE_CUH_

#include "ptx_sm90.cuh"

namespace warpsmith::hgemm::wgmma {

// Shared memory, from a 1024-byte boundary:
//
//   stage 0 | stage 1 | ... | C staging, one part a warpgroup | full[] | empty[] | ready, inbox
//     |                         (kPersistent && kTmaStore)                         (kSplits > 1)
//     A: kTileK/64 panels of kTileM rows of 128 B
//     B: TN kTileK/64 panels of kTileN rows (n) of 128 B; NN kTileN/64 panels of kTileK rows (k)
//
// Without kPersistent the stages are free once the only tile is summed: then C is staged there, or
// the splits' partial sums arrive there. All rows are swizzled as the tensor maps say.
//
//   full[s]   the producer's one arrival, and kStageBytes landing; with kDirectLoad every producer
//             thread's, when its copies are done. Consumers wait for it.
//   empty[s]  every warp that multiplies stage s, of this CTA and of the CTAs that this CTA
//             multicasts to or shares a multicast with: all consumers, or with kPingPong the one
//             warpgroup whose tile it is. The producer waits for it before it fills s again.
//   ready     every consumer warp of the CTAs that share this tile: their stages are free. It is
//             waited for by consumers, before they send partial sums there.
//   inbox     one arrival at the start, and kInboxBytes landing: the partial sums of this CTA's
//             columns from every other split. Consumers wait for it before they add.
template <class C>
struct Geometry {
  static constexpr int kClusterSize = C::kClusterM * C::kClusterN * C::kSplits;
  static constexpr bool kMulticast = C::kClusterM * C::kClusterN > 1;
  // CTAs that receive a part of this CTA's loads, itself included.
  static constexpr int kPeers = C::kClusterM + C::kClusterN - 1;

  static constexpr int kThreads = C::kConsumers * 128 + C::kProducerWarps * 32;
  static constexpr int kSharers = C::kPingPong ? 1 : C::kConsumers;  // warpgroups of one tile
  static constexpr int kWarpgroupsM = C::kTileM / 64 % kSharers == 0 ? kSharers : 1;
  static constexpr int kWarpgroupsN = kSharers / kWarpgroupsM;
  static constexpr int kWarpgroupM = C::kTileM / kWarpgroupsM;
  static constexpr int kWarpgroupN = C::kTileN / kWarpgroupsN;
  static constexpr int kRepeats = kWarpgroupM / 64;      // m64 instructions a warpgroup
  static constexpr int kAccumulators = kWarpgroupN / 2;  // registers a thread and repeat

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

  static constexpr int kBarrierOffset = kRingBytes + (kStaged ? C::kConsumers * kStagingBytes : 0);
  static constexpr int kSharedBytes = kBarrierOffset + 16 * C::kStages + (C::kSplits > 1 ? 16 : 0);
  static constexpr int kPartialBytes = C::kTileM * C::kTileN * 4;
  static constexpr int kInboxBytes = kPartialBytes / C::kSplits * (C::kSplits - 1);  // from others

  static_assert(kWarpgroupM % 64 == 0 && C::kTileK % 64 == 0);
  static_assert(!C::kRowMajorB || kWarpgroupN % 64 == 0, "N-major B comes in 64-column panels");
  static_assert(kPanels % kPanelBuffers == 0, "each tile must start at staging buffer 0");
  static_assert(kStaged || !C::kTmaStore || C::kConsumers * kStagingBytes <= kRingBytes);
  static_assert(C::kSplits == 1 || (!C::kPersistent && !C::kTmaStore));
  static_assert(C::kSplits == 1 || kPartialBytes <= kRingBytes);
  static_assert(kWarpgroupN / 8 % C::kSplits == 0 && kClusterSize <= 16);
  static_assert(C::kSlices == 1 || (!C::kPersistent && !C::kTmaStore));
  static_assert(!C::kPingPong || (C::kPersistent && C::kConsumers == 2 && C::kSplits == 1));
  static_assert(!C::kPingPong || C::kSkew == 0, "the warpgroups take turns already");
  static_assert(C::kSkew * (C::kConsumers - 1) < C::kStages, "the last one must find its stage");
  static_assert(C::kProducerWarps == 1 || C::kConsumers == 2 || C::kDirectLoad,
                "setmaxnreg is set for 2 + 1");
  static_assert(!C::kDirectLoad || (C::kProducerWarps == 4 && !kMulticast));
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
  u32 ready, inbox;        // barriers of the split
  u32 peer_empty;          // multicast: empty[0] of the peer this lane answers to
  int split, row, column;  // position in the cluster
  int rank_of_split;       // rank of (row 0, column 0) of this split
  int slice;               // of K, among the clusters that share this tile

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

  // As so many calls of Advance.
  WS_DEVICE void Skip(u32 blocks) {
    stage += blocks;
    parity ^= stage / kStages & 1;
    stage %= kStages;
  }
};

// Tiles in patches: kRasterGroup lines side by side, walked along M or N and back in the next
// group, so that CTAs that run together share rows of A and columns of B in L2.
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

// The origin of this CTA's part of the tiles that a cluster works on together: {row, column}.
template <class C>
WS_DEVICE Tile TileOrigin(const Cta& cta, int index, Tile grid) {
  const Tile tile = RasterTile<C>(index, grid);
  return {(tile.m * C::kClusterM + cta.row) * C::kTileM,
          (tile.n * C::kClusterN + cta.column) * C::kTileN};
}

template <class C>
WS_DEVICE int FirstTileIndex() {
  return blockIdx.x / (Geometry<C>::kClusterSize * C::kSlices);
}

// The k-blocks [begin, end) of this CTA: its slice's, and of these its split's.
struct BlockRange {
  int begin, end;
};

template <class C>
WS_DEVICE BlockRange KBlocks(const Cta& cta, const Problem& problem) {
  const int blocks = (problem.k + C::kTileK - 1) / C::kTileK;
  const int part = cta.slice * C::kSplits + cta.split;
  return {blocks * part / (C::kSlices * C::kSplits),
          blocks * (part + 1) / (C::kSlices * C::kSplits)};
}

// What a CTA works on, as far as it is known before anything is read.
struct Work {
  Tile first;  // origin of its first tile
  BlockRange blocks;

  // Now, not where it would be waited for.
  WS_DEVICE void WorkOut() const {
    ptx::work_out_here(first.m | first.n | blocks.begin | blocks.end);
  }
};

template <class C>
WS_DEVICE Work WorkOf(const Cta& cta, const Problem& problem) {
  return {TileOrigin<C>(cta, FirstTileIndex<C>(), ClusterGrid<C>(problem)),
          KBlocks<C>(cta, problem)};
}

// Calls body(row, column, more) with the origin of every tile of this CTA, in the producer's order,
// and whether another one follows. Tiles beyond C's edge (odd counts in clusters) are worked like
// others: they read zeros and store nothing.
template <class C, class Body>
WS_DEVICE void ForEachTile(const Cta& cta, const Problem& problem, Tile origin, Body&& body) {
  const Tile grid = ClusterGrid<C>(problem);
  int index = FirstTileIndex<C>();
  for (bool more = true; more;) {
    index += gridDim.x / Geometry<C>::kClusterSize;
    more = C::kPersistent && index < grid.m * grid.n;
    body(origin.m, origin.n, more);
    if (more) origin = TileOrigin<C>(cta, index, grid);
  }
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_TILE_CUH_
