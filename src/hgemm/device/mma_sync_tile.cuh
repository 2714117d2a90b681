// Family mma_sync: what a configuration means, and which part of C a CTA and a warp own.
#ifndef WARPSMITH_HGEMM_DEVICE_MMA_SYNC_TILE_CUH_
#define WARPSMITH_HGEMM_DEVICE_MMA_SYNC_TILE_CUH_

#include "ptx.cuh"

namespace warpsmith::hgemm::mma_sync {

enum class Edge {
  kExact,      // the tile divides M, N and K; rows 16-byte aligned
  kAligned,    // K % 8 == 0 and N % 8 == 0: whole 16-byte chunks are inside or outside
  kUnaligned,  // any size, any 2-byte alignment: predicated element loads
};
enum class Epilogue { kDirect, kStaged };
enum class Split {
  kNone,
  kWorkspace,  // f32 partials to global memory, summed by Reduce in a second launch
  kCluster,    // CTAs of a cluster add through distributed shared memory (sm_90)
};

// What follows from a configuration C:
//   int kM, kN, kK   sizes, or 0: taken from the kernel's arguments
//   bool kBColumnMajor; Edge kEdge; Epilogue kEpilogue; Split kSplit
//   bool kBf16       elements are bf16; else f16
//   int kOverlap     1, 2: launched programmatically: begins while the operation ahead still runs;
//                    2: the one behind may begin only when the one ahead has ended (sm_90)
//   bool kEarlyReduce   Reduce is launched programmatically (sm_90)
//   int kBM, kBN, kBK, kWarpsM, kWarpsN, kWarpsK, kStages, kSplits, kRasterGroup
template <class C>
struct Derived {
  static constexpr int kThreads = 32 * C::kWarpsM * C::kWarpsN * C::kWarpsK;
  static constexpr int kGroupThreads = 32 * C::kWarpsM * C::kWarpsN;  // one K slice of the CTA
  static constexpr int kWarpM = C::kBM / C::kWarpsM;
  static constexpr int kWarpN = C::kBN / C::kWarpsN;
  static constexpr int kTilesI = kWarpM / 16;
  static constexpr int kTilesJ = kWarpN / 8;
  static constexpr int kSteps = C::kBK / 16 / C::kWarpsK;  // k16 steps of a warp in a k-block
  static constexpr int kBRows = C::kBColumnMajor ? C::kBN : C::kBK;
  static constexpr int kBInner = C::kBColumnMajor ? C::kBK : C::kBN;
  static constexpr int kABytes = C::kBM * C::kBK * 2;
  static constexpr int kStageBytes = kABytes + C::kBN * C::kBK * 2;
  static constexpr int kPaddedRowBytes = kWarpN * 2 + 16;
  static constexpr int kTileF32Bytes = C::kBM * C::kBN * 4;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "a warp owns whole 16x16 fragments");
  static_assert(kSteps % 2 == 0, "fragments are double-buffered by k16 step");
  static_assert(C::kSplit != Split::kCluster || kTilesI * kTilesJ % C::kSplits == 0,
                "ranks own equal shares of the fragments");
};

// Elements of C that a thread of Reduce adds up: rows are whole 16-byte groups, or of any length.
template <class C>
inline constexpr int kReduceWidth = C::kEdge == Edge::kUnaligned ? 1 : 4;

__device__ constexpr int Max(int a, int b) { return a > b ? a : b; }

// Where the inbox of a cluster starts: behind everything that is reused.
template <class C>
__device__ constexpr int InboxOffset() {
  using D = Derived<C>;
  const int epilogue =
      C::kEpilogue == Epilogue::kStaged ? D::kGroupThreads / 32 * 16 * D::kPaddedRowBytes : 0;
  return Max(C::kStages * D::kStageBytes, Max((C::kWarpsK - 1) * D::kTileF32Bytes, epilogue));
}

template <class C>
__device__ constexpr int SharedBytes() {
  return InboxOffset<C>() + (C::kSplit == Split::kCluster ? Derived<C>::kTileF32Bytes : 0);
}

template <class C>
__device__ constexpr int Threads() {
  return Derived<C>::kThreads;
}

// ---- the problem and this CTA's part of it -----------------------------------------------------

template <class C>
struct Problem {
  const half_t* a;
  const half_t* b;
  half_t* c;
  float* partials;
  int m_arg, n_arg, k_arg;

  __device__ __forceinline__ int M() const { return C::kM > 0 ? C::kM : m_arg; }
  __device__ __forceinline__ int N() const { return C::kN > 0 ? C::kN : n_arg; }
  __device__ __forceinline__ int K() const { return C::kK > 0 ? C::kK : k_arg; }
};

struct Tile {
  int row, column;          // of C, where the tile starts
  int first_block, blocks;  // k-blocks of this CTA
  int split;
};

// CTAs walk groups of kRasterGroup tile rows, down the rows first, so that CTAs running together
// share rows of A and columns of B in L2. The splits of a tile are neighbours: a cluster.
template <class C>
__device__ __forceinline__ Tile LocateTile(const Problem<C>& p) {
  const int tiles_m = (p.M() + C::kBM - 1) / C::kBM;
  const int tiles_n = (p.N() + C::kBN - 1) / C::kBN;
  const int id = blockIdx.x / C::kSplits;
  const int band = C::kRasterGroup * tiles_n;
  const int first = id / band * C::kRasterGroup;
  const int rows = min(tiles_m - first, C::kRasterGroup);
  Tile t;
  t.row = (first + id % band % rows) * C::kBM;
  t.column = id % band / rows * C::kBN;
  t.split = blockIdx.x % C::kSplits;
  const int blocks = (p.K() + C::kBK - 1) / C::kBK;
  const int share = (blocks + C::kSplits - 1) / C::kSplits;
  t.first_block = t.split * share;
  t.blocks = max(0, min(blocks - t.first_block, share));
  return t;
}

// Byte offset of a 16-byte chunk in a tile whose rows hold kChunks chunks.
template <int kChunks>
__device__ __forceinline__ int SwizzledOffset(int row, int chunk) {
  if constexpr (kChunks % 8 == 0) return (row * kChunks + (chunk ^ (row & 7))) * 16;
  if constexpr (kChunks % 8 == 4) return (row * kChunks + (chunk ^ (row >> 1 & 3))) * 16;
  return (row * kChunks + (chunk ^ (row >> 2 & 1))) * 16;
}

// This warp's corner of the CTA tile and its lane's share of an ldmatrix address.
struct WarpPlace {
  int row, column, first_step, lane;
};

template <class C>
__device__ __forceinline__ WarpPlace LocateWarp() {
  using D = Derived<C>;
  const int warp = threadIdx.x / 32;
  WarpPlace w;
  w.row = warp % C::kWarpsM * D::kWarpM;
  w.column = warp / C::kWarpsM % C::kWarpsN * D::kWarpN;
  w.first_step = warp / (C::kWarpsM * C::kWarpsN) * D::kSteps;
  w.lane = threadIdx.x % 32;
  return w;
}

template <class C>
using Accumulator = float[Derived<C>::kTilesI][Derived<C>::kTilesJ][4];

}  // namespace warpsmith::hgemm::mma_sync

#endif  // WARPSMITH_HGEMM_DEVICE_MMA_SYNC_TILE_CUH_
