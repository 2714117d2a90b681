#include "hgemm/wgmma_family.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "hgemm/family_parts.h"

namespace warpsmith::hgemm {

namespace {

using Wgmma = WgmmaParameters;

// What stands here is what docs/perf.md found to pay: values that never came within 2 % of
// the best of any shape are left out, so that a search meets what can win.
constexpr int64_t kWidthStep = 16;                         // of tile_n, from 32 to 256
constexpr int64_t kMostStages = 14, kMostUsualStages = 8;  // 14 of 64x64 fit
constexpr int64_t kMostSlicedStages = 7;  // leaves some cache to the kernel that adds up
constexpr int64_t kMostTilesInRing = 4;
constexpr int64_t kL2Bytes = int64_t{50} << 20;             // about
constexpr int64_t kMostPartialBytes = int64_t{32} << 20;    // written and read once more
constexpr int64_t kSharedBytesOfHalfAnSm = 232448 / 2 - 1;  // two CTAs side by side

struct TileGrid {
  int64_t m = 0, n = 0;  // tiles along each axis

  int64_t ctas(const Wgmma& p) const { return m * n * WgmmaParts(p); }
};

TileGrid Tiles(const Problem& problem, const Wgmma& p) {
  return {CeilDiv(problem.m, p.tile_m), CeilDiv(problem.n, p.tile_n)};
}

bool IsTilePlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  const int64_t waves = CeilDiv(Tiles(problem, p).ctas(p), target.sm_count);
  if (p.tile_m > 64 && p.tile_m / 2 >= problem.m) return false;
  if (p.tile_n > 32 && p.tile_n / 2 >= problem.n) return false;
  // 192 rows and few columns are for tall C that they cut into about as many tiles as there are
  // SMs, where 64 and 128 rows leave a quarter of them idle.
  const bool is_tall = p.tile_m == 192 && p.tile_n <= 128 && !p.ping_pong;
  if (is_tall && (problem.m % 192 != 0 || waves > 1)) return false;
  // Many waves of small tiles read too much, unless writing C is what takes the time.
  const int64_t area = p.tile_m * p.tile_n;
  if (area < 64 * 128) return waves <= 8;
  return area >= 128 * 128 || waves <= (problem.k <= 256 ? 64 : 16);
}

bool IsOneOf(int64_t value, std::initializer_list<int64_t> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Values of tile_n.
constexpr std::initializer_list<int64_t> kUsualWidths = {32, 64, 96, 128, 192, 256};
constexpr std::initializer_list<int64_t> kOtherWidths = {48, 80, 112, 144, 160, 176, 208, 224, 240};

// Columns of C that the busiest SM works through, were its tile `width` columns wide, for each part
// of K.
int64_t BusiestColumns(const Problem& problem, const Target& target, Wgmma p, int64_t width) {
  p.tile_n = width;
  return CeilDiv(Tiles(problem, p).ctas(p), target.sm_count) * width;
}

// Other widths are for sizes that the usual ones cut into tiles of which the last round leaves SMs
// idle: of those that take as many rounds the narrowest, if the busiest SM then has a twentieth less
// to do. It is not compared with usual ones of half its width or less, which read operands more
// often.
bool IsWidthPlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  if (IsOneOf(p.tile_n, kUsualWidths)) return true;
  const auto columns = [&](int64_t width) { return BusiestColumns(problem, target, p, width); };
  const int64_t own = columns(p.tile_n), narrower = p.tile_n - kWidthStep;
  if (columns(narrower) / narrower == own / p.tile_n) return false;
  return std::all_of(kUsualWidths.begin(), kUsualWidths.end(), [&](int64_t width) {
    return 2 * width <= p.tile_n || own * 20 <= columns(width) * 19;
  });
}

// Slices are for the SMs that splits leave idle; what they write is read once more.
bool IsSplitPlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  const int64_t ctas = Tiles(problem, p).ctas(p);
  if (WgmmaParts(p) == 1) return true;
  if (p.splits > 1 && p.slices > 1) return false;
  if (CeilDiv(problem.k, p.tile_k) < 4 * WgmmaParts(p) || ctas > 2 * target.sm_count) return false;
  if (p.slices == 1) return true;
  return ctas > target.sm_count / 4 && ctas / p.slices <= target.sm_count / 2 &&
         p.slices * problem.m * problem.n * 4 <= kMostPartialBytes;
}

// What a tile takes of a ring, at least two.
int64_t StagesOfTile(const Problem& problem, const Wgmma& p) {
  return std::max<int64_t>(2, CeilDiv(problem.k, p.tile_k * WgmmaParts(p)));
}

bool IsRingPlausible(const Problem& problem, const Wgmma& p) {
  // The same bytes in finer steps are better, unless a barrier a step is too much of it.
  if (p.tile_k == 128 && (p.stages < 3 || p.tile_m * p.tile_n > 64 * 64)) return false;
  // Persistent CTAs load for the tiles to come while they store.
  return p.stages <= StagesOfTile(problem, p) * (p.persistent ? kMostTilesInRing : 1);
}

// Rows are read 128 bytes at a time. Where they come from memory and only a tile or two wants each
// of them, a kernel is faster if L2 does not fetch the next 128 bytes along (docs/perf.md).
int64_t BestPromotion(const Problem& problem, const Wgmma& p) {
  constexpr int64_t kFewRows = 128, kOperandBytes = int64_t{24} << 20;
  const bool is_thin = std::min(problem.m, problem.n) <= kFewRows;
  const bool is_large = 2 * problem.k * (problem.m + problem.n) >= kOperandBytes;
  return is_thin && is_large && !p.direct_load ? 128 : 256;
}

// C that leaves L2 first leaves room for operands that are read again; where K is deep it makes no
// difference.
bool StreamsC(const Problem& problem, const Wgmma& p) {
  return problem.k <= 2048 && p.persistent && problem.m * problem.n * 2 >= kL2Bytes / 2;
}

// Turns hide stores behind products: small tiles only where stores are a part of the time that
// shows, for they are read more often.
bool IsTurnPlausible(const Problem& problem, const Wgmma& p) {
  return problem.k <= 2048 || p.tile_m * p.tile_n >= 128 * 128;
}

bool IsPlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  const TileGrid tiles = Tiles(problem, p);
  const int64_t ctas = tiles.ctas(p);
  const bool one_wave = ctas <= target.sm_count * p.ctas_per_sm;
  if (p.persistent && one_wave) return false;  // one tile a CTA anyway
  // Where an SM has one tile, a store through shared memory has nothing to hide behind.
  if (!p.persistent && p.tma_store) return false;
  // Direct stores stop the tensor cores, unless another warpgroup goes on.
  if (p.persistent && !p.tma_store && problem.k > (p.ping_pong ? 2048 : 256)) return false;
  if (p.cluster_m > tiles.m || p.cluster_n > tiles.n) return false;
  if (p.cluster_m * p.cluster_n > 2 && (!one_wave || p.splits == 1)) return false;
  if ((p.stream_c != 0) != StreamsC(problem, p)) return false;
  return IsRingPlausible(problem, p) && IsSplitPlausible(problem, target, p);
}

// Orders worth telling apart: two where all tiles run at once, else groups up to the lines there
// are.
bool IsRasterPlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  const TileGrid tiles = Tiles(problem, p);
  const Wgmma usual;
  if (tiles.ctas(p) <= target.sm_count) {
    const bool across = p.raster_group == 4 && p.raster_along_m == 0;
    const bool is_usual =
        p.raster_group == usual.raster_group && p.raster_along_m == usual.raster_along_m;
    return is_usual || (across && WgmmaParts(p) == 1 && tiles.m > 1 && tiles.n > 4);
  }
  if (problem.k > 256 ? p.raster_group < 8 : p.raster_group == 8) return false;
  const int64_t lines =
      p.raster_along_m ? CeilDiv(tiles.n, p.cluster_n) : CeilDiv(tiles.m, p.cluster_m);
  if (p.raster_group == 1) return lines == 1 || (problem.k <= 256 && !p.raster_along_m);
  return p.raster_group / 2 < lines;
}

// Where power is the limit, and it makes a difference.
bool AreEvenRoundsPlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  if (!p.even_rounds) return true;
  if (!p.persistent || !p.tma_store || p.ping_pong || p.skew || p.stream_c) return false;
  if (problem.k < 1024 || p.raster_group < 8) return false;
  const TileGrid tiles = Tiles(problem, p);
  const int64_t clusters = CeilDiv(tiles.m, p.cluster_m) * CeilDiv(tiles.n, p.cluster_n);
  const int64_t active = target.sm_count * p.ctas_per_sm / WgmmaClusterSize(p);
  return CeilDiv(clusters, CeilDiv(clusters, active)) < active;
}

// Whether launches that follow each other overlap. Where a kernel takes long nothing is gained, and
// splits that wait without sharing loads lose up to a third. 1 is for CTAs that take an SM each:
// smaller ones would crowd on the few SMs that the launch ahead leaves idle.
bool IsOverlapPlausible(const Problem& problem, const Target& target, const Wgmma& p) {
  constexpr int64_t kMostProducts = int64_t{1} << 34;
  const bool is_short = problem.m * problem.n * problem.k <= kMostProducts;
  const bool shares = p.cluster_m * p.cluster_n > 1;
  if (!target.overlap || !is_short || (p.splits >= 4 && !shares)) return p.overlap == 0;
  if (p.splits >= 4 || p.slices > 1) return p.overlap != 1;
  if (p.overlap == 1) return p.splits == 1 && WgmmaSharedBytes(p) > kSharedBytesOfHalfAnSm;
  return p.overlap == 2;
}

// ---- enumeration: each step extends every configuration of the step before ----

using All = std::vector<Wgmma>;

All TileChoices() {
  All all;
  for (const auto& [m, n, consumers] : std::initializer_list<std::array<int64_t, 3>>{
           {64, 32, 1},   {64, 64, 1},   {64, 96, 1},   {64, 128, 1},  {64, 128, 2},  {64, 192, 1},
           {64, 256, 1},  {64, 256, 2},  {128, 32, 2},  {128, 64, 1},  {128, 64, 2},  {128, 96, 2},
           {128, 128, 1}, {128, 128, 2}, {128, 192, 2}, {128, 256, 2}, {192, 32, 1},  {192, 64, 1},
           {192, 64, 3},  {192, 128, 1}, {192, 128, 3}, {192, 192, 2}, {192, 256, 2}, {256, 64, 2},
           {256, 96, 2},  {256, 128, 2}, {256, 192, 2}}) {
    all.push_back({.tile_m = m, .tile_n = n, .consumers = consumers});
  }
  for (const auto& [m, consumers] :
       std::initializer_list<std::array<int64_t, 2>>{{64, 1}, {64, 2}, {128, 2}, {256, 2}}) {
    for (const int64_t n : kOtherWidths) {
      all.push_back({.tile_m = m, .tile_n = n, .consumers = consumers});
    }
  }
  all = Extend(all, &Wgmma::tile_k, {64, 128});
  return Extend(all, &Wgmma::producer_warps, {1, 4});
}

// Tiles that one warpgroup works on alone while the other has the next one: from what it can hold,
// down to where a tile is so small that its loads take longer than its products.
All PingPongTiles() {
  All all;
  for (const auto& [m, n] : std::initializer_list<std::array<int64_t, 2>>{
           {64, 128}, {64, 256}, {128, 64}, {128, 128}, {128, 192}, {192, 128}, {256, 64}}) {
    all.push_back({.tile_m = m, .tile_n = n, .consumers = 2, .persistent = 1, .ping_pong = 1});
  }
  for (const int64_t n : kOtherWidths) {
    for (const int64_t m : {64, 128}) {
      all.push_back({.tile_m = m, .tile_n = n, .consumers = 2, .persistent = 1, .ping_pong = 1});
    }
  }
  return Extend(all, &Wgmma::producer_warps, {1, 4});
}

// setmaxnreg only where registers are short: it needs a warpgroup for the producer.
bool IsProducerPlausible(const Wgmma& p) {
  if (WgmmaAccumulators(p) < 128) return p.producer_warps == 1;
  if (p.ping_pong) return (p.producer_warps == 4) == (WgmmaAccumulators(p) > 128);
  return p.persistent || p.producer_warps == 1;
}

// Of the legal ring depths of a configuration: for slices the two deepest that leave their second
// kernel a cache; else the deepest, the deepest of usual ones (of persistent kernels the two
// deepest, and that of one tile), and the deepest of which two fit an SM, as clusters that do not
// fill the GPCs need and launches that overlap.
All WithStages(const Problem& problem, const Target& target, const All& from) {
  All all;
  for (Wgmma p : from) {
    int deepest = 0, usual = 0;
    bool halves = p.persistent || p.slices > 1;  // none is wanted, or taken already
    bool tiles = !p.persistent;                  // the same
    for (p.stages = p.slices > 1 ? kMostSlicedStages : kMostStages; p.stages >= 2; --p.stages) {
      if (!IsLegalWgmma(problem, target, p) || !IsPlausible(problem, target, p)) continue;
      const bool is_usual = p.stages <= kMostUsualStages;
      const bool is_half = WgmmaSharedBytes(p) <= kSharedBytesOfHalfAnSm;
      const bool is_tile = p.stages == StagesOfTile(problem, p);
      const int wanted = p.slices > 1 || p.persistent ? 2 : 1;
      if (deepest == 0 || (is_usual && usual < wanted) || (is_half && !halves) ||
          (is_tile && !tiles)) {
        all.push_back(p);
      }
      ++deepest;
      usual += is_usual ? 1 : 0;
      halves = halves || is_half;
      tiles = tiles || is_tile;
      if (usual >= wanted && halves && tiles) break;
    }
  }
  return all;
}

All SplitChoices(const Problem& problem, const Target& target) {
  All all = Filter(TileChoices(), [&](const Wgmma& p) {
    return HasWgmmaInstruction(p, problem.layout) && IsTilePlausible(problem, target, p);
  });
  all = Extend(all, &Wgmma::splits, {1, 2, 4, 8});
  all = Extend(all, &Wgmma::slices, {1, 4, 8, 16, 32});
  all = Filter(all, [&](const Wgmma& p) {
    return IsSplitPlausible(problem, target, p) && IsWidthPlausible(problem, target, p);
  });
  all = Extend(all, &Wgmma::persistent, {0, 1});
  return Filter(all, IsProducerPlausible);
}

// Copies by threads: for problems of few k-blocks, where the way to the first product is long
// beside the rest.
All DirectTiles() {
  All all;
  for (const auto& [m, n, consumers] :
       std::initializer_list<std::array<int64_t, 3>>{{64, 32, 1}, {64, 64, 1}, {64, 128, 1}}) {
    all.push_back(
        {.tile_m = m, .tile_n = n, .consumers = consumers, .producer_warps = 4, .direct_load = 1});
  }
  return all;
}

All DirectChoices(const Problem& problem, const Target& target) {
  constexpr int64_t kMostProducts = int64_t{1} << 28;
  if (problem.m * problem.n * problem.k > kMostProducts) return {};
  return Filter(DirectTiles(), [&](const Wgmma& p) {
    return HasWgmmaInstruction(p, problem.layout) && IsTilePlausible(problem, target, p) &&
           Tiles(problem, p).ctas(p) <= 2 * target.sm_count;
  });
}

All TurnChoices(const Problem& problem, const Target& target) {
  return Filter(PingPongTiles(), [&](const Wgmma& p) {
    return HasWgmmaInstruction(p, problem.layout) && IsProducerPlausible(p) &&
           IsTilePlausible(problem, target, p) && IsWidthPlausible(problem, target, p) &&
           IsTurnPlausible(problem, p);
  });
}

}  // namespace

std::vector<Wgmma> WgmmaChoices(const Problem& problem, const Target& target) {
  All all = SplitChoices(problem, target);
  const All turns = TurnChoices(problem, target);
  all.insert(all.end(), turns.begin(), turns.end());
  const All direct = DirectChoices(problem, target);
  all.insert(all.end(), direct.begin(), direct.end());
  all = Extend(all, &Wgmma::cluster_m, {1, 2});
  all = Extend(all, &Wgmma::cluster_n, {1, 2});
  all = Extend(all, &Wgmma::tma_store, {0, 1});
  all = Extend(all, &Wgmma::stream_c, {0, 1});
  all = WithStages(problem, target, all);
  all = Extend(all, &Wgmma::raster_group, {1, 4, 8, 16});
  all = Extend(all, &Wgmma::raster_along_m, {0, 1});
  all = Extend(all, &Wgmma::even_rounds, {0, 1});
  all = Filter(all, [&](const Wgmma& p) { return AreEvenRoundsPlausible(problem, target, p); });
  all = Extend(all, &Wgmma::overlap, {0, 1, 2});
  for (Wgmma& p : all) p.l2_promotion = BestPromotion(problem, p);
  return Filter(all, [&](const Wgmma& p) {
    return IsLegalWgmma(problem, target, p) && IsRasterPlausible(problem, target, p) &&
           IsOverlapPlausible(problem, target, p);
  });
}

namespace {

constexpr int64_t kMaxSharedBytes = 232448;  // of an SM of sm_90, less what each CTA reserves
constexpr int64_t kMaxClusterCtas = 16;

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
  if (p.tma_store && WgmmaWarpgroupColumns(p) % WgmmaPanelColumns(p) != 0) return false;
  if (p.splits > 1) {  // partial sums go where the stages were
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
  // What each CTA of a cluster sends are whole groups of 8 rows, as the swizzle has them.
  if (p.tile_m % (8 * p.cluster_n) != 0 || p.tile_n % (8 * p.cluster_m) != 0) return false;
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
  return columns >= 32 && columns <= 256 && columns % kWidthStep == 0;
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
