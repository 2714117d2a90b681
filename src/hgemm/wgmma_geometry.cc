#include "hgemm/wgmma_geometry.h"

#include <algorithm>
#include <initializer_list>

#include "hgemm/tiling.h"

namespace warpsmith::hgemm {
namespace {

using Wgmma = WgmmaParameters;

constexpr int64_t kMaxSharedBytes = 232448;  // of an SM of sm_90, less what each CTA reserves
constexpr int64_t kMaxClusterCtas = 16;

bool IsOneOf(int64_t value, std::initializer_list<int64_t> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

int64_t WarpgroupsM(const Wgmma& p) {
  return p.tile_m / 64 % WgmmaSharers(p) == 0 ? WgmmaSharers(p) : 1;
}
int64_t WarpgroupM(const Wgmma& p) { return p.tile_m / WarpgroupsM(p); }
int64_t WarpgroupsN(const Wgmma& p) { return WgmmaSharers(p) / WarpgroupsM(p); }

int64_t Panels(const Wgmma& p) {
  return WarpgroupM(p) / 64 * (WgmmaWarpgroupColumns(p) / WgmmaPanelColumns(p));
}
int64_t RingBytes(const Wgmma& p) { return p.stages * (p.tile_m + p.tile_n) * p.tile_k * 2; }
int64_t BarrierBytes(const Wgmma& p) { return 16 * p.stages + (p.splits > 1 ? 16 : 0); }
int64_t SharedBytesWith(const Wgmma& p, int64_t store_panels) {
  const bool staged = p.persistent && p.tma_store;
  return RingBytes(p) + BarrierBytes(p) +
         (staged ? p.consumers * store_panels * 64 * WgmmaPanelColumns(p) * 2 : 0);
}

// Registers a thread of a consumer may have. The register file is four parts; warps are dealt to
// them in turn, and a part holds 16384.
int64_t ConsumerRegisters(const Wgmma& p) {
  if (p.producer_warps == 4 && !p.direct_load) return 240;  // by setmaxnreg
  const int64_t warps_a_part = CeilDiv(WgmmaThreads(p) / 32 * p.ctas_per_sm, 4);
  return std::min<int64_t>(255, 16384 / (warps_a_part * 32) / 8 * 8);
}

// What the compiler needs beside the accumulators, so that nothing spills.
int64_t OtherRegisters(const Wgmma& p) { return p.ping_pong || p.direct_load ? 34 : 26; }

bool FitsSm(const Wgmma& p, const Target& target) {
  const int64_t shared_limit = std::min<int64_t>(target.max_shared_bytes, kMaxSharedBytes);
  if (p.direct_load) {
    if (p.producer_warps != 4 || p.cluster_m * p.cluster_n > 1) return false;
  } else if (p.producer_warps == 4 && (p.consumers != 2 || p.ctas_per_sm != 1)) {
    return false;
  }
  return WgmmaSharedBytes(p) <= shared_limit / p.ctas_per_sm &&
         WgmmaAccumulators(p) + OtherRegisters(p) <= ConsumerRegisters(p);
}

bool StoresFit(const Wgmma& p) {
  if (WgmmaParts(p) > 1 && (p.persistent || p.tma_store)) return false;
  if (p.slices > 1 && p.stream_c) return false;  // what it writes is read next
  if (p.splits > 1) {                            // partial sums go where the stages were
    return p.tile_m * p.tile_n * 4 <= RingBytes(p) && WgmmaWarpgroupColumns(p) / 8 % p.splits == 0;
  }
  return !p.tma_store || p.persistent || p.tile_m * p.tile_n * 2 <= RingBytes(p);
}

bool ScheduleFits(const Wgmma& p) {
  if (p.even_rounds && !p.persistent) return false;
  if (p.ping_pong) {
    return p.persistent && p.consumers == 2 && p.splits == 1 && p.slices == 1 && p.skew == 0;
  }
  return p.skew == 0 || (p.persistent && p.consumers > 1 && p.skew * (p.consumers - 1) < p.stages);
}

bool StridesFit(const Problem& problem, const Wgmma& p) {
  const bool aligned_n = problem.layout == Layout::kNN || p.tma_store;
  return problem.k % 8 == 0 && (!aligned_n || problem.n % 8 == 0);
}

}  // namespace

int64_t WgmmaSharers(const Wgmma& p) { return p.ping_pong ? 1 : p.consumers; }
int64_t WgmmaWarpgroupColumns(const Wgmma& p) { return p.tile_n / WarpgroupsN(p); }
int64_t WgmmaAccumulators(const Wgmma& p) {
  return WarpgroupM(p) / 64 * WgmmaWarpgroupColumns(p) / 2;
}
int64_t WgmmaPanelColumns(const Wgmma& p) { return WgmmaWarpgroupColumns(p) % 64 == 0 ? 64 : 32; }

int64_t WgmmaStorePanels(const Wgmma& p) {
  for (int64_t panels = Panels(p); panels > 1; --panels) {
    if (Panels(p) % panels == 0 && SharedBytesWith(p, panels) <= kMaxSharedBytes / p.ctas_per_sm) {
      return panels;
    }
  }
  return 1;
}

int64_t WgmmaParts(const Wgmma& p) { return p.splits * p.slices; }
int64_t WgmmaMinimumKBlocks(const Wgmma& p) {
  return std::max<int64_t>(WgmmaParts(p), p.skew > 0 ? p.stages : 1);
}

bool HasWgmmaInstruction(const Wgmma& p, Layout layout) {
  if (p.tile_n % WarpgroupsN(p) != 0) return false;
  const int64_t columns = WgmmaWarpgroupColumns(p);
  if (layout == Layout::kNN && columns % 64 != 0) return false;
  return IsOneOf(columns, {32, 64, 96, 128, 160, 192, 256});
}

int64_t WgmmaThreads(const Wgmma& p) { return 128 * p.consumers + 32 * p.producer_warps; }

int64_t WgmmaClusterSize(const Wgmma& p) { return p.cluster_m * p.cluster_n * p.splits; }

int64_t WgmmaSharedBytes(const Wgmma& p) { return SharedBytesWith(p, WgmmaStorePanels(p)); }

bool IsLegalWgmma(const Problem& problem, const Target& target, const Wgmma& p) {
  return target.compute_capability == 90 && IsOneOf(p.l2_promotion, {128, 256}) &&
         HasWgmmaInstruction(p, problem.layout) && WgmmaClusterSize(p) <= kMaxClusterCtas &&
         FitsSm(p, target) && StoresFit(p) && ScheduleFits(p) && StridesFit(problem, p) &&
         CeilDiv(problem.k, p.tile_k) >= WgmmaMinimumKBlocks(p);
}

}  // namespace warpsmith::hgemm
