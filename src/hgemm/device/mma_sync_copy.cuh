// Family mma_sync: from global memory into the ring of shared-memory stages.
#ifndef WARPSMITH_HGEMM_DEVICE_MMA_SYNC_COPY_CUH_
#define WARPSMITH_HGEMM_DEVICE_MMA_SYNC_COPY_CUH_

#include "mma_sync_tile.cuh"

namespace warpsmith::hgemm::mma_sync {

// One operand: tiles of kRows rows of kInner halves, k-block after k-block. Thread t copies chunks
// t, t + kThreads, ... of a tile; the source address is carried along instead of recomputed, which
// keeps the loop-invariant address arithmetic out of registers.
template <class C, int kRows, int kInner>
struct Copier {
  static constexpr int kChunks = kInner / 8;
  static constexpr int kTotal = kRows * kChunks;
  static constexpr int kThreads = Derived<C>::kThreads;
  static constexpr int kTurns = (kTotal + kThreads - 1) / kThreads;
  static constexpr bool kWhole = kTotal % kThreads == 0;
  static constexpr bool kRegular = kThreads % kChunks == 0;  // all turns stay in one chunk column

  const half_t* next;    // this thread's first chunk (the tile's, if irregular) in the next block
  long long pitch;       // halves from row to row
  long long block_step;  // halves from k-block to k-block
  uint4_t staged[C::kEdge == Edge::kUnaligned ? kTurns : 1];  // in registers between two phases

  __device__ __forceinline__ void Init(const half_t* tile, long long row_pitch, long long step) {
    pitch = row_pitch;
    block_step = step;
    next = kRegular ? tile + Row(0) * pitch + Chunk(0) * 8 : tile;
  }

  __device__ __forceinline__ static int Row(int turn) {
    if constexpr (kRegular) return threadIdx.x / kChunks + turn * (kThreads / kChunks);
    return (turn * kThreads + threadIdx.x) / kChunks;
  }
  __device__ __forceinline__ static int Chunk(int turn) {
    if constexpr (kRegular) return threadIdx.x % kChunks;
    return (turn * kThreads + threadIdx.x) % kChunks;
  }
  __device__ __forceinline__ static bool Exists(int turn) {
    return kWhole || turn * kThreads + threadIdx.x < kTotal;
  }

  // Starts the copy of the next tile to shared address `stage`. `rows` and `inner` bound what
  // exists of the matrix from the tile's first element on; the edge variants fill in zeros.
  __device__ __forceinline__ void Start(uint32_t stage, int rows, int inner) {
    const half_t* from = next;
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      if constexpr (!kRegular) from = next + Row(turn) * pitch + Chunk(turn) * 8;
      if (Exists(turn)) StartChunk(stage, from, turn, rows - Row(turn), inner - Chunk(turn) * 8);
      if constexpr (kRegular) from += (kThreads / kChunks) * pitch;
    }
    next += block_step;
  }

  __device__ __forceinline__ void StartChunk(uint32_t stage, const half_t* from, int turn,
                                             int rows_left, int halves_left) {
    const uint32_t to = stage + SwizzledOffset<kChunks>(Row(turn), Chunk(turn));
    if constexpr (C::kEdge == Edge::kExact) {
      ptx::cp_async_cg_shared_global_16(to, from);
    } else if constexpr (C::kEdge == Edge::kAligned) {
      ptx::cp_async_cg_shared_global_16(to, from, rows_left > 0 && halves_left > 0 ? 16 : 0);
    } else {
      staged[turn] = LoadElements(from, rows_left > 0 ? halves_left : 0);
    }
  }

  // Second half of the unaligned copy: what Start left in registers goes to shared memory.
  __device__ __forceinline__ void Finish(uint32_t stage) {
    if constexpr (C::kEdge == Edge::kUnaligned) {
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        const uint32_t to = stage + SwizzledOffset<kChunks>(Row(turn), Chunk(turn));
        if (Exists(turn)) ptx::st_shared_v4_b32(to, staged[turn]);
      }
    }
  }

  // The first `count` (clamped to 0..8) halves at `from`, zeros behind them.
  __device__ __forceinline__ static uint4_t LoadElements(const half_t* from, int count) {
    uint32_t word[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const uint32_t low = 2 * w < count ? ptx::ld_global_nc_b16(from + 2 * w) : 0;
      const uint32_t high = 2 * w + 1 < count ? ptx::ld_global_nc_b16(from + 2 * w + 1) : 0;
      word[w] = low | high << 16;
    }
    return {word[0], word[1], word[2], word[3]};
  }
};

// A position in the ring of stages.
template <class C>
struct Stage {
  uint32_t base;
  int index;

  __device__ __forceinline__ uint32_t Address() const {
    return base + index * Derived<C>::kStageBytes;
  }
  __device__ __forceinline__ void Advance() { index = index == C::kStages - 1 ? 0 : index + 1; }
};

// Brings k-blocks of both operands into the ring, one after the other.
template <class C>
struct Producer {
  using D = Derived<C>;
  Stage<C> stage;
  int blocks;                  // still to start
  int left_m, left_n, left_k;  // of the matrices, from the next tiles' first elements on
  Copier<C, C::kBM, C::kBK> a;
  Copier<C, D::kBRows, D::kBInner> b;

  __device__ __forceinline__ Producer(const Problem<C>& p, const Tile& tile, uint32_t ring)
      : stage{ring, 0}, blocks(tile.blocks) {
    const int k = tile.first_block * C::kBK;
    const long long ka = p.K(), n = p.N();
    left_m = p.M() - tile.row, left_n = p.N() - tile.column, left_k = p.K() - k;
    a.Init(p.a + tile.row * ka + k, ka, C::kBK);
    if constexpr (C::kBColumnMajor) {
      b.Init(p.b + tile.column * ka + k, ka, C::kBK);
    } else {
      b.Init(p.b + k * n + tile.column, n, C::kBK * n);
    }
  }

  // One commit group a block, empty past the end.
  __device__ __forceinline__ void Start() {
    if (blocks > 0) {
      a.Start(stage.Address(), left_m, left_k);
      b.Start(stage.Address() + D::kABytes, C::kBColumnMajor ? left_n : left_k,
              C::kBColumnMajor ? left_k : left_n);
    }
    ptx::cp_async_commit_group();
  }

  // Call once after each Start, when the stage may be written by ordinary stores.
  __device__ __forceinline__ void Finish() {
    if (blocks > 0) {
      a.Finish(stage.Address());
      b.Finish(stage.Address() + D::kABytes);
    }
    blocks -= 1;
    left_k -= C::kBK;
    stage.Advance();
  }
};

}  // namespace warpsmith::hgemm::mma_sync

#endif  // WARPSMITH_HGEMM_DEVICE_MMA_SYNC_COPY_CUH_
