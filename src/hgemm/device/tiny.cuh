// HGEMM for problems of a few microseconds: C = A*B, f16 or bf16 in and out, f32 accumulation.
// A is MxK row-major; B is KxN row-major ("NN") or column-major ("TN", stored NxK); C is MxN
// row-major. Sizes are constants of the configuration: a kernel serves one shape.
//
// Operands go from global memory straight into the registers of mma.m16n8k16: no staging, no
// barrier. Two freedoms of the product make 16-byte loads fit the fragments:
//
//  K may be permuted as long as A and B agree. In a block of 32 k, lane (g,t) of a warp
//  (g = lane/4, t = lane%4) owns k = 8t..8t+7 where the instruction's own layout would give it
//  2t,2t+1,2t+8,2t+9 of two k16 steps. Word w (0..3) holds k = 8t+2w, 8t+2w+1; words 0,1 feed
//  the first step and words 2,3 the second. One LDG.128 a row and block for A and column-major B.
//
//  N may be permuted as long as the store agrees. Column i of the j-th n8 instruction stands for
//  a column chosen so that a lane ends with `kRun` = 2*kWarpN/8 CONSECUTIVE columns a row of C.
//
// K may be split twice: over `kSliceWarps` warps of a CTA and over `kClusterSlices` CTAs of a
// cluster (sm_90). Partial sums are added in slice order, then in rank order: bitwise repeatable.
//
//   shared memory (only if K is split), f32:
//   +--------------------+--------------------+-- ... --+
//   | slice 0            | slice 1            |         |   each kCtaM*kCtaN floats, as
//   | piece 0: lane 0..31| piece 0: lane 0..31|         |   [piece][lane][kPiece]: a warp's
//   | piece 1: lane 0..31|                    |         |   access is contiguous, no conflicts
//   +--------------------+--------------------+-- ... --+
//   and, in a cluster, the inbox: [rank][share of the pieces], kCtaM*kCtaN floats, which the CTAs
//   of the cluster fill: rank r owns, adds and stores the r-th share of the tile.
#ifndef WARPSMITH_HGEMM_DEVICE_TINY_CUH_
#define WARPSMITH_HGEMM_DEVICE_TINY_CUH_

#include "ptx.cuh"

namespace warpsmith::hgemm::tiny {

enum class BAccess {
  kColumnMajor,        // TN: fragments load as they are
  kRowMajorMovmatrix,  // NN: rows of kRun columns, transposed across lanes by movmatrix
  kRowMajorPermute,    // NN: every lane loads its own 8 k rows, pairs joined by prmt
};

// What follows from a configuration C:
//   int kM, kN, kK; BAccess kBAccess; int kWarpM (16, 32), kWarpN (8, 16, 32, 64);
//   int kTileWarpsM, kTileWarpsN   warps of a CTA side by side over C
//   int kSliceWarps, kClusterSlices   ways K is split inside a CTA and over a cluster
//   int kUnroll        k32 blocks whose loads are in flight together
//   int kAccumulators  1, or 2: even and odd k16 steps apart, halving the chain of mma
//   bool kBf16         elements are bf16; else f16
//   int kOverlap       1, 2: launched programmatically: begins while the operation ahead still
//   runs;
//                      2: the one behind may begin only when the one ahead has ended (sm_90)
template <class C>
struct Derived {
  static constexpr int kTilesI = C::kWarpM / 16;
  static constexpr int kTilesJ = C::kWarpN / 8;
  static constexpr int kRun = 2 * kTilesJ;
  static constexpr int kTileWarps = C::kTileWarpsM * C::kTileWarpsN;
  static constexpr int kThreads = 32 * kTileWarps * C::kSliceWarps;
  static constexpr int kCtaM = C::kWarpM * C::kTileWarpsM;
  static constexpr int kCtaN = C::kWarpN * C::kTileWarpsN;
  static constexpr int kSliceK = C::kK / (C::kSliceWarps * C::kClusterSlices);
  static constexpr int kBatches = kSliceK / (32 * C::kUnroll);
  static constexpr bool kSplit = C::kSliceWarps * C::kClusterSlices > 1;
  static constexpr int kPiece = kRun < 4 ? kRun : 4;
  static constexpr int kPiecesPerWarp = kTilesI * 2 * kRun / kPiece;
  static constexpr int kItems = kTileWarps * kPiecesPerWarp * 32;  // pieces x lanes of a CTA tile
  static_assert(C::kM % kCtaM == 0 && C::kN % kCtaN == 0, "the tile must divide C");
  static_assert(kBatches * 32 * C::kUnroll * C::kSliceWarps * C::kClusterSlices == C::kK,
                "K must be whole batches in every slice");
  static_assert(kItems % C::kClusterSlices == 0, "ranks own equal shares of the tile");
};

template <class C>
__device__ constexpr int Threads() {
  return Derived<C>::kThreads;
}

// Where this warp works. Rows and columns are those of C; `k` starts this warp's slice.
struct Place {
  int group, thread;  // lane / 4 and lane % 4, the PTX manual's groupID and threadID_in_group
  int row, column, k;
  int tile_warp, slice;
};

template <class C>
__device__ __forceinline__ Place Locate() {
  using D = Derived<C>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int tile = blockIdx.x / C::kClusterSlices;
  const int rank = blockIdx.x % C::kClusterSlices;
  constexpr int kTilesN = C::kN / D::kCtaN;
  Place p;
  p.group = lane / 4;
  p.thread = lane % 4;
  p.tile_warp = warp % D::kTileWarps;
  p.slice = warp / D::kTileWarps;
  p.row = tile / kTilesN * D::kCtaM + p.tile_warp / C::kTileWarpsN * C::kWarpM;
  p.column = tile % kTilesN * D::kCtaN + p.tile_warp % C::kTileWarpsN * C::kWarpN;
  p.k = (rank * C::kSliceWarps + p.slice) * D::kSliceK;
  return p;
}

// ---- operand B -------------------------------------------------------------------------------
// Each access has Origin (where this lane reads its first block), Load of the block `k` later, and
// Fragment(j, w): the word of B for instruction j holding k = 8t+2w, 8t+2w+1 of this lane's column.

template <class C, BAccess kAccess>
struct BlockB;

// Column i of instruction j is kRun*(i/2) + 2j + i%2.
template <class C>
struct BlockB<C, BAccess::kColumnMajor> {
  uint4_t column[Derived<C>::kTilesJ];

  static __device__ __forceinline__ const half_t* Origin(const half_t* b, const Place& p) {
    const int first = p.column + Derived<C>::kRun * (p.group / 2) + p.group % 2;
    return b + first * C::kK + p.k + 8 * p.thread;
  }
  __device__ __forceinline__ void Load(const half_t* origin, int k) {
#pragma unroll
    for (int j = 0; j < Derived<C>::kTilesJ; ++j) {
      column[j] = ptx::ld_global_nc_v4_b32(origin + k + 2 * j * C::kK);
    }
  }
  __device__ __forceinline__ void Fragment(uint32_t (&words)[4], int j) const {
    words[0] = column[j].x, words[1] = column[j].y;
    words[2] = column[j].z, words[3] = column[j].w;
  }
};

template <int kWords>
__device__ __forceinline__ void LoadWords(uint32_t (&words)[kWords], const half_t* source) {
  if constexpr (kWords == 1) {
    words[0] = ptx::ld_global_nc_b32(source);
  } else if constexpr (kWords == 2) {
    const uint2_t v = ptx::ld_global_nc_v2_b32(source);
    words[0] = v.x, words[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      const uint4_t v = ptx::ld_global_nc_v4_b32(source + 2 * i);
      words[i] = v.x, words[i + 1] = v.y, words[i + 2] = v.z, words[i + 3] = v.w;
    }
  }
}

// Lane (g,t) loads columns kRun*t.. of the k rows 8*(g/2)+2w+g%2: as an 8x8 matrix of (k, column)
// its word j transposes into the fragment of instruction j. Same column map as kColumnMajor.
template <class C>
struct BlockB<C, BAccess::kRowMajorMovmatrix> {
  uint32_t row[4][Derived<C>::kTilesJ];

  static __device__ __forceinline__ const half_t* Origin(const half_t* b, const Place& p) {
    const int first = p.k + 8 * (p.group / 2) + p.group % 2;
    return b + first * C::kN + p.column + Derived<C>::kRun * p.thread;
  }
  __device__ __forceinline__ void Load(const half_t* origin, int k) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      LoadWords<Derived<C>::kTilesJ>(row[w], origin + (k + 2 * w) * C::kN);
    }
  }
  __device__ __forceinline__ void Fragment(uint32_t (&words)[4], int j) const {
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = ptx::movmatrix_m8n8_trans_b16(row[w][j]);
  }
};

// Lane (g,t) loads columns kTilesJ*g.. of the k rows 8t..8t+7. Column i of instruction j is
// kTilesJ*i + j.
template <class C>
struct BlockB<C, BAccess::kRowMajorPermute> {
  static constexpr int kRowWords = Derived<C>::kTilesJ < 2 ? 1 : Derived<C>::kTilesJ / 2;
  uint32_t row[8][kRowWords];

  static __device__ __forceinline__ const half_t* Origin(const half_t* b, const Place& p) {
    return b + (p.k + 8 * p.thread) * C::kN + p.column + Derived<C>::kTilesJ * p.group;
  }
  __device__ __forceinline__ void Load(const half_t* origin, int k) {
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const half_t* const source = origin + (k + r) * C::kN;
      if constexpr (Derived<C>::kTilesJ == 1) {
        row[r][0] = ptx::ld_global_nc_b16(source);
      } else {
        LoadWords<kRowWords>(row[r], source);
      }
    }
  }
  __device__ __forceinline__ void Fragment(uint32_t (&words)[4], int j) const {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const uint32_t low = row[2 * w][j / 2], high = row[2 * w + 1][j / 2];
      words[w] = j % 2 == 0 ? ptx::prmt_b32<0x5410>(low, high) : ptx::prmt_b32<0x7632>(low, high);
    }
  }
};

// ---- main loop -------------------------------------------------------------------------------

// Where this lane reads its first block of each operand.
template <class C>
struct Origins {
  const half_t *a, *b;

  __device__ __forceinline__ Origins(const half_t* a_base, const half_t* b_base, const Place& p)
      : a(a_base + (p.row + p.group) * C::kK + p.k + 8 * p.thread),
        b(BlockB<C, C::kBAccess>::Origin(b_base, p)) {}

  // Now, not where they would be waited for.
  __device__ __forceinline__ void WorkOut() const { ptx::work_out_here(a), ptx::work_out_here(b); }
};

template <class C>
struct Batch {
  uint4_t a[C::kUnroll][Derived<C>::kTilesI][2];  // [block][m16][row g or g+8]
  BlockB<C, C::kBAccess> b[C::kUnroll];

  __device__ __forceinline__ void Load(const Origins<C>& origins, int k) {
#pragma unroll
    for (int u = 0; u < C::kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < Derived<C>::kTilesI * 2; ++i) {
        a[u][i / 2][i % 2] = ptx::ld_global_nc_v4_b32(origins.a + k + 8 * i * C::kK + 32 * u);
      }
      b[u].Load(origins.b, k + 32 * u);
    }
  }
};

template <class C>
using Accumulator = float[C::kAccumulators][Derived<C>::kTilesI][Derived<C>::kTilesJ][4];

template <class C>
__device__ __forceinline__ void Multiply(Accumulator<C>& acc, const Batch<C>& batch) {
  using D = Derived<C>;
#pragma unroll
  for (int u = 0; u < C::kUnroll; ++u) {
#pragma unroll
    for (int j = 0; j < D::kTilesJ; ++j) {
      uint32_t b[4];
      batch.b[u].Fragment(b, j);
#pragma unroll
      for (int i = 0; i < D::kTilesI; ++i) {
        const uint4_t top = batch.a[u][i][0], bottom = batch.a[u][i][1];
        ptx::mma_m16n8k16_f32<C::kBf16>(acc[0][i][j], top.x, bottom.x, top.y, bottom.y, b[0], b[1]);
        ptx::mma_m16n8k16_f32<C::kBf16>(acc[C::kAccumulators - 1][i][j], top.z, bottom.z, top.w,
                                        bottom.w, b[2], b[3]);
      }
    }
  }
}

template <class C>
__device__ __forceinline__ void Accumulate(Accumulator<C>& acc, const Origins<C>& origins) {
  Batch<C> batch;
  batch.Load(origins, 0);
#pragma unroll 2
  for (int n = 1; n < Derived<C>::kBatches; ++n) {
    Batch<C> next;  // its loads are in flight while the previous batch is multiplied
    next.Load(origins, n * 32 * C::kUnroll);
    Multiply<C>(acc, batch);
    batch = next;
  }
  Multiply<C>(acc, batch);
}

// ---- epilogue --------------------------------------------------------------------------------

// Value `r` (0..kRun-1) of the consecutive columns this lane holds in row g (half 0) or g+8 (1).
template <class C>
__device__ __forceinline__ float RunValue(const Accumulator<C>& acc, int i, int half, int r) {
  constexpr int kJ = Derived<C>::kTilesJ;
  const bool permuted = C::kBAccess == BAccess::kRowMajorPermute;
  const int j = permuted ? r % kJ : r / 2;
  const int odd = permuted ? r / kJ : r % 2;
  const float first = acc[0][i][j][2 * half + odd];
  return C::kAccumulators == 1 ? first : first + acc[C::kAccumulators - 1][i][j][2 * half + odd];
}

template <class C>
__device__ __forceinline__ void StoreRuns(half_t* c, const Accumulator<C>& acc, const Place& p) {
  using D = Derived<C>;
#pragma unroll
  for (int i = 0; i < 2 * D::kTilesI; ++i) {
    half_t* out = c + (p.row + 8 * i + p.group) * C::kN + p.column + D::kRun * p.thread;
    uint32_t word[D::kTilesJ];
#pragma unroll
    for (int w = 0; w < D::kTilesJ; ++w) {
      word[w] = ptx::cvt_rn_x2_f32<C::kBf16>(RunValue<C>(acc, i / 2, i % 2, 2 * w),
                                             RunValue<C>(acc, i / 2, i % 2, 2 * w + 1));
    }
    if constexpr (D::kTilesJ == 1) {
      ptx::st_global_b32(out, word[0]);
    } else if constexpr (D::kTilesJ == 2) {
      ptx::st_global_v2_b32(out, word[0], word[1]);
    } else {
#pragma unroll
      for (int w = 0; w < D::kTilesJ; w += 4) {
        ptx::st_global_v4_b32(out + 2 * w, word[w], word[w + 1], word[w + 2], word[w + 3]);
      }
    }
  }
}

template <int kFloats>
struct alignas(4 * kFloats) Piece {
  float v[kFloats];
};

template <int kFloats>
__device__ __forceinline__ void Add(Piece<kFloats>& sum, const Piece<kFloats>& term) {
#pragma unroll
  for (int i = 0; i < kFloats; ++i) sum.v[i] += term.v[i];
}

template <class C>
using Partials = Piece<Derived<C>::kPiece>[C::kSliceWarps][Derived<C>::kItems];

// Piece q of this lane: row of eight q / (pieces a row), then along the run.
template <class C>
__device__ __forceinline__ Piece<Derived<C>::kPiece> RunPiece(const Accumulator<C>& acc, int q) {
  using D = Derived<C>;
  constexpr int kPerRow = D::kRun / D::kPiece;
  Piece<D::kPiece> piece;
#pragma unroll
  for (int r = 0; r < D::kPiece; ++r) {
    const int row = q / kPerRow;
    piece.v[r] = RunValue<C>(acc, row / 2, row % 2, q % kPerRow * D::kPiece + r);
  }
  return piece;
}

template <class C>
__device__ __forceinline__ void WritePartials(Partials<C>& partials, const Accumulator<C>& acc,
                                              const Place& p) {
  using D = Derived<C>;
#pragma unroll
  for (int q = 0; q < D::kPiecesPerWarp; ++q) {
    const int item = (p.tile_warp * D::kPiecesPerWarp + q) * 32 + threadIdx.x % 32;
    partials[p.slice][item] = RunPiece<C>(acc, q);
  }
}

// Item = (tile warp, piece, lane), as WritePartials numbers them.
template <class C>
__device__ __forceinline__ void StoreItem(half_t* c, int item, const Piece<Derived<C>::kPiece>& v) {
  using D = Derived<C>;
  constexpr int kPerRow = D::kRun / D::kPiece;
  const int tile = blockIdx.x / C::kClusterSlices;
  constexpr int kTilesN = C::kN / D::kCtaN;
  const int lane = item % 32, q = item / 32 % D::kPiecesPerWarp;
  const int warp = item / (32 * D::kPiecesPerWarp);
  const int row =
      tile / kTilesN * D::kCtaM + warp / C::kTileWarpsN * C::kWarpM + q / kPerRow * 8 + lane / 4;
  const int column = tile % kTilesN * D::kCtaN + warp % C::kTileWarpsN * C::kWarpN +
                     lane % 4 * D::kRun + q % kPerRow * D::kPiece;
  half_t* out = c + row * C::kN + column;
  if constexpr (D::kPiece == 2) {
    ptx::st_global_b32(out, ptx::cvt_rn_x2_f32<C::kBf16>(v.v[0], v.v[1]));
  } else {
    ptx::st_global_v2_b32(out, ptx::cvt_rn_x2_f32<C::kBf16>(v.v[0], v.v[1]),
                          ptx::cvt_rn_x2_f32<C::kBf16>(v.v[2], v.v[3]));
  }
}

template <class C>
__device__ __forceinline__ Piece<Derived<C>::kPiece> SumSlices(const Partials<C>& partials,
                                                               int item) {
  Piece<Derived<C>::kPiece> sum = partials[0][item];
#pragma unroll
  for (int s = 1; s < C::kSliceWarps; ++s) Add(sum, partials[s][item]);
  return sum;
}

// Where the CTAs of a cluster leave their sums for this CTA's share of the items.
template <class C>
using Inbox = Piece<Derived<C>::kPiece>[C::kClusterSlices][Derived<C>::kItems / C::kClusterSlices];

// Sends this CTA's sum for `item` to the rank that owns it.
template <class C>
__device__ __forceinline__ void Push(Inbox<C>& inbox, int item,
                                     const Piece<Derived<C>::kPiece>& sum) {
  constexpr int kShare = Derived<C>::kItems / C::kClusterSlices;
  const int rank = blockIdx.x % C::kClusterSlices;
  const uint32_t to =
      ptx::mapa_shared_cluster(ptx::cvta_to_shared(&inbox[rank][item % kShare]), item / kShare);
  if constexpr (Derived<C>::kPiece == 2) {
    ptx::st_shared_cluster_v2_f32(to, {sum.v[0], sum.v[1]});
  } else {
    ptx::st_shared_cluster_v4_f32(to, {sum.v[0], sum.v[1], sum.v[2], sum.v[3]});
  }
}

// Adds what all ranks sent, in rank order.
template <class C>
__device__ __forceinline__ void StoreInbox(half_t* c, const Inbox<C>& inbox) {
  constexpr int kShare = Derived<C>::kItems / C::kClusterSlices;
  for (int i = threadIdx.x; i < kShare; i += Derived<C>::kThreads) {
    Piece<Derived<C>::kPiece> sum = inbox[0][i];
#pragma unroll
    for (int r = 1; r < C::kClusterSlices; ++r) Add(sum, inbox[r][i]);
    StoreItem<C>(c, blockIdx.x % C::kClusterSlices * kShare + i, sum);
  }
}

// Sums the slices of the CTA; `sink(item, sum)` takes each sum.
template <class C, class Sink>
__device__ __forceinline__ void ForEachSum(const Accumulator<C>& acc, const Place& p, Sink sink) {
  using D = Derived<C>;
  if constexpr (C::kSliceWarps == 1) {
#pragma unroll
    for (int q = 0; q < D::kPiecesPerWarp; ++q) {
      sink((p.tile_warp * D::kPiecesPerWarp + q) * 32 + threadIdx.x % 32, RunPiece<C>(acc, q));
    }
  } else {
    __shared__ Partials<C> partials;
    WritePartials<C>(partials, acc, p);
    __syncthreads();  // every thread waits until all warps of the CTA have written their slice
    for (int i = threadIdx.x; i < D::kItems; i += D::kThreads) sink(i, SumSlices<C>(partials, i));
  }
}

template <class C>
__device__ __forceinline__ void StoreSplit(half_t* c, const Accumulator<C>& acc, const Place& p) {
  using P = Piece<Derived<C>::kPiece>;
  if constexpr (C::kClusterSlices == 1) {
    ForEachSum<C>(acc, p, [&](int item, const P& sum) { StoreItem<C>(c, item, sum); });
  } else {
    __shared__ Inbox<C> inbox;
    ptx::barrier_cluster_wait_acquire();  // all CTAs of the cluster run: their memory may be
                                          // written
    ForEachSum<C>(acc, p, [&](int item, const P& sum) { Push<C>(inbox, item, sum); });
    ptx::barrier_cluster_arrive_release();
    ptx::barrier_cluster_wait_acquire();  // all threads wait until every CTA has sent its sums
    StoreInbox<C>(c, inbox);
  }
}

// The kernel body. Grid: kM/kCtaM * kN/kCtaN * kClusterSlices CTAs along x, clusters of
// kClusterSlices along x, kThreads threads. Pointers must be 16-byte aligned.
template <class C>
__device__ __forceinline__ void Run(const half_t* a, const half_t* b, half_t* c) {
  if constexpr (C::kClusterSlices > 1) ptx::barrier_cluster_arrive_relaxed();  // "I run"
  if constexpr (C::kOverlap == 1) ptx::griddepcontrol_launch_dependents();
  const Place p = Locate<C>();
  const Origins<C> origins(a, b, p);
  if constexpr (C::kOverlap > 0) {
    origins.WorkOut();
    ptx::griddepcontrol_wait();
  }
  if constexpr (C::kOverlap == 2) ptx::griddepcontrol_launch_dependents();
  Accumulator<C> acc = {};
  Accumulate<C>(acc, origins);
  if constexpr (Derived<C>::kSplit) {
    StoreSplit<C>(c, acc, p);
  } else {
    StoreRuns<C>(c, acc, p);
  }
}

}  // namespace warpsmith::hgemm::tiny

#endif  // WARPSMITH_HGEMM_DEVICE_TINY_CUH_
