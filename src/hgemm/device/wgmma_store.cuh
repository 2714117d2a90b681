// The epilogues of the wgmma family: a warpgroup's accumulators to C in global memory, through
// shared memory and TMA or straight from registers.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_STORE_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_STORE_CUH_

#include "wgmma_multiply.cuh"

namespace warpsmith::hgemm::wgmma {

// C as the configuration stores it: a tensor map (kTmaStore), the matrix, or where the slices of a
// tile leave their sums (kSlices > 1).
struct Output {
  const TensorMap* map = nullptr;
  u16* pointer = nullptr;
  float* partials = nullptr;
};

struct Warpgroup {
  int index, row, column;  // row and column: origin of its part in the CTA's tile

  WS_DEVICE void Sync() const { ptx::bar_sync(1 + index, 128); }
};

inline constexpr u32 kAllConsumersBarrier = 8;

// Writes 64 rows x kPanelCols columns of accumulators (those of n8 blocks from `first` on) as
// swizzled rows of 16-bit elements. stmatrix takes a row address from every lane: matrices 0 and 1
// are the warp's rows 0-7 and 8-15 of one n8 block, 2 and 3 those of the next.
template <int kPanelCols, bool kBf16>
WS_DEVICE void WritePanel(u32 panel, const float* first) {
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x % 128 / 32 * 16 + lane % 16;
  const int swizzle = kPanelCols == 64 ? row % 8 : row / 2 % 4;
  const u32 row_address = panel + row * kPanelCols * 2;
#pragma unroll
  for (int chunk = 0; chunk < kPanelCols / 8; chunk += 2) {
    const float* v = first + chunk * 4;
    ptx::stmatrix_x4(row_address + (((chunk + lane / 16) ^ swizzle) * 16),
                     ptx::cvt_x2_f32<kBf16>(v[0], v[1]), ptx::cvt_x2_f32<kBf16>(v[2], v[3]),
                     ptx::cvt_x2_f32<kBf16>(v[4], v[5]), ptx::cvt_x2_f32<kBf16>(v[6], v[7]));
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
    WritePanel<G::kPanelCols, C::kBf16>(
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
template <class C, int kBlocks>
WS_DEVICE void StoreRow(u16* c, const Problem& problem, int row, int column, const float* v) {
  const int quad_lane = threadIdx.x % 4;
  u16* const line = c + static_cast<u64>(row) * problem.n;
#pragma unroll
  for (int block = 0; block + 4 <= kBlocks; block += 4) {
    u32 word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      word[i] = ptx::cvt_x2_f32<C::kBf16>(v[(block + i) * 4], v[(block + i) * 4 + 1]);
    }
    TransposeQuad(word);
    const int x = column + (block + quad_lane) * 8;
    if (row < problem.m && x < problem.n) ptx::st_global_v4<C::kStreamC>(line + x, word);
  }
#pragma unroll
  for (int block = kBlocks / 4 * 4; block < kBlocks; ++block) {
    const int x = column + block * 8 + quad_lane * 2;
    if (row < problem.m && x < problem.n) {
      *reinterpret_cast<u32*>(line + x) = ptx::cvt_x2_f32<C::kBf16>(v[block * 4], v[block * 4 + 1]);
    }
  }
}

// The same for any N: element by element.
template <class C, int kBlocks>
WS_DEVICE void StoreRowUnaligned(u16* c, const Problem& problem, int row, int column,
                                 const float* v) {
  if (row >= problem.m) return;
  u16* const line = c + static_cast<u64>(row) * problem.n;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const int x = column + block * 8 + threadIdx.x % 4 * 2;
    const u32 pair = ptx::cvt_x2_f32<C::kBf16>(v[block * 4], v[block * 4 + 1]);
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
      StoreRow<C, kBlocks>(c, problem, own_row + half * 8, column, sum + half * 2);
    } else {
      StoreRowUnaligned<C, kBlocks>(c, problem, own_row + half * 8, column, sum + half * 2);
    }
  }
}

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_STORE_CUH_
