#include "hgemm/wgmma_space.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include "hgemm/tiling.h"
#include "hgemm/wgmma_geometry.h"

namespace warpsmith::hgemm {
namespace {

using P = WgmmaParameters;

constexpr int64_t kMostStages = 14, kMostUsualStages = 8;   // 14 of 64x64 fit
constexpr int64_t kL2Bytes = int64_t{50} << 20;             // about
constexpr int64_t kMostPartialBytes = int64_t{32} << 20;    // written and read once more
constexpr int64_t kSharedBytesOfThreeQuarters = 163 << 10;  // and 92 KB of cache
constexpr int64_t kSharedBytesOfHalfAnSm = 232448 / 2 - 1;  // two CTAs side by side

struct TileGrid {
  int64_t m = 0, n = 0;  // tiles along each axis

  int64_t ctas(const P& p) const { return m * n * WgmmaParts(p); }
};

TileGrid Tiles(const Problem& problem, const P& p) {
  return {CeilDiv(problem.m, p.tile_m), CeilDiv(problem.n, p.tile_n)};
}

bool IsTilePlausible(const Problem& problem, const Target& target, const P& p) {
  const int64_t waves = CeilDiv(Tiles(problem, p).ctas(p), target.sm_count);
  if (p.tile_m > 64 && p.tile_m / 2 >= problem.m) return false;
  if (p.tile_n > 32 && p.tile_n / 2 >= problem.n) return false;
  // Many waves of small tiles read too much, unless writing C is what takes the time.
  const int64_t area = p.tile_m * p.tile_n;
  if (area < 64 * 128) return waves <= 8;
  return area >= 128 * 128 || waves <= (problem.k <= 256 ? 64 : 16);
}

// Slices are for the SMs that splits leave idle; what they write is read once more.
bool IsSplitPlausible(const Problem& problem, const Target& target, const P& p) {
  const int64_t ctas = Tiles(problem, p).ctas(p);
  if (WgmmaParts(p) == 1) return true;
  if (CeilDiv(problem.k, p.tile_k) < 4 * WgmmaParts(p) || ctas > 2 * target.sm_count) return false;
  if (p.slices == 1) return true;
  return ctas > target.sm_count / 4 && ctas / p.slices <= target.sm_count / 2 &&
         p.slices * problem.m * problem.n * 4 <= kMostPartialBytes;
}

bool IsRingPlausible(const Problem& problem, const P& p) {
  if (p.tile_k == 128 && p.stages < 3) return false;  // the same bytes in finer steps are better
  return p.stages == 2 || p.stages <= CeilDiv(problem.k, p.tile_k * WgmmaParts(p));
}

// Turns hide stores behind products: small tiles only where stores are a part of the time that
// shows, for they are read more often.
bool IsTurnPlausible(const Problem& problem, const P& p) {
  return problem.k <= 2048 || p.tile_m * p.tile_n >= 128 * 128;
}

bool IsPlausible(const Problem& problem, const Target& target, const P& p) {
  const TileGrid tiles = Tiles(problem, p);
  const int64_t ctas = tiles.ctas(p);
  const bool one_wave = ctas <= target.sm_count * p.ctas_per_sm;
  if (p.ctas_per_sm > 1 && ctas <= target.sm_count * (p.ctas_per_sm - 1)) return false;
  if (p.persistent && one_wave) return false;  // one tile a CTA anyway
  // Direct stores stop the tensor cores, unless another warpgroup goes on.
  if (p.persistent && !p.tma_store && problem.k > (p.ping_pong ? 2048 : 256)) return false;
  if (p.cluster_m > tiles.m || p.cluster_n > tiles.n) return false;
  if (p.cluster_m * p.cluster_n > 2 && !one_wave) return false;
  if (p.stream_c && problem.m * problem.n * 2 < kL2Bytes / 2) return false;
  return IsRingPlausible(problem, p) && IsSplitPlausible(problem, target, p);
}

// Skew hides stores, too.
bool IsSkewPlausible(const Problem& problem, const P& p) {
  return p.skew == 0 || (problem.k <= 2048 && !p.ping_pong);
}

// Orders worth telling apart: one where all tiles run at once, else groups up to the lines there
// are.
bool IsRasterPlausible(const Problem& problem, const Target& target, const P& p) {
  const TileGrid tiles = Tiles(problem, p);
  const P usual;
  if (tiles.ctas(p) <= target.sm_count * p.ctas_per_sm) {
    return p.raster_group == usual.raster_group && p.raster_along_m == usual.raster_along_m;
  }
  const int64_t lines =
      p.raster_along_m ? CeilDiv(tiles.n, p.cluster_n) : CeilDiv(tiles.m, p.cluster_m);
  if (p.raster_group == 1) return lines == 1 || (problem.k <= 256 && !p.raster_along_m);
  return p.raster_group / 2 < lines;
}

// Where power is the limit, and it makes a difference.
bool AreEvenRoundsPlausible(const Problem& problem, const Target& target, const P& p) {
  if (!p.even_rounds) return true;
  if (!p.persistent || !p.tma_store || p.ping_pong || p.skew || p.stream_c) return false;
  if (problem.k < 1024 || p.raster_group < 8) return false;
  const TileGrid tiles = Tiles(problem, p);
  const int64_t clusters = CeilDiv(tiles.m, p.cluster_m) * CeilDiv(tiles.n, p.cluster_n);
  const int64_t active = target.sm_count * p.ctas_per_sm / WgmmaClusterSize(p);
  return CeilDiv(clusters, CeilDiv(clusters, active)) < active;
}

// ---- enumeration: each step extends every configuration of the step before ----

using All = std::vector<P>;

template <class Set>
All Extend(const All& from, std::initializer_list<int64_t> values, Set set) {
  All all;
  for (const P& p : from) {
    for (const int64_t value : values) {
      all.push_back(p);
      set(all.back(), value);
    }
  }
  return all;
}

template <class Keep>
All Filter(const All& from, Keep keep) {
  All kept;
  std::copy_if(from.begin(), from.end(), std::back_inserter(kept), keep);
  return kept;
}

All TileChoices() {
  All all;
  for (const auto& [m, n, consumers] : std::initializer_list<std::array<int64_t, 3>>{
           {64, 32, 1},   {64, 64, 1},   {64, 96, 1},   {64, 128, 1},  {64, 128, 2},  {64, 192, 1},
           {64, 256, 1},  {64, 256, 2},  {128, 32, 2},  {128, 64, 1},  {128, 64, 2},  {128, 96, 2},
           {128, 128, 1}, {128, 128, 2}, {128, 160, 2}, {128, 192, 2}, {128, 256, 2}, {192, 64, 3},
           {192, 128, 3}, {192, 192, 2}, {192, 192, 3}, {192, 256, 2}, {256, 64, 2},  {256, 96, 2},
           {256, 128, 2}, {256, 192, 2}}) {
    all.push_back({.tile_m = m, .tile_n = n, .consumers = consumers});
  }
  all = Extend(all, {64, 128}, [](P& p, int64_t v) { p.tile_k = v; });
  return Extend(all, {1, 4}, [](P& p, int64_t v) { p.producer_warps = v; });
}

// Tiles that one warpgroup works on alone while the other has the next one: from what it can hold,
// down to where a tile is so small that its loads take longer than its products.
All PingPongTiles() {
  All all;
  for (const auto& [m, n] : std::initializer_list<std::array<int64_t, 2>>{
           {64, 128}, {64, 256}, {128, 64}, {128, 128}, {128, 192}, {192, 128}, {256, 64}}) {
    all.push_back({.tile_m = m, .tile_n = n, .consumers = 2, .persistent = 1, .ping_pong = 1});
  }
  return Extend(all, {1, 4}, [](P& p, int64_t v) { p.producer_warps = v; });
}

// setmaxnreg only where registers are short: it needs a warpgroup for the producer.
bool IsProducerPlausible(const P& p) {
  return p.producer_warps == 1 || WgmmaAccumulators(p) >= 128;
}

// What a ring may leave of an SM's shared memory to others. Large clusters do not fill the GPCs
// unless two CTAs fit an SM; the kernel that adds up slices takes its place beside the first, and
// reads faster the more of the memory is left to be its cache.
std::vector<int64_t> RoomsBelow(const P& p) {
  if (p.slices > 1) return {kSharedBytesOfThreeQuarters, kSharedBytesOfHalfAnSm};
  if (WgmmaClusterSize(p) >= 4) return {kSharedBytesOfHalfAnSm};
  return {};
}

// Of the legal ring depths of a configuration: the deepest, the two deepest of usual ones, and the
// deepest that leaves each room.
All WithStages(const Problem& problem, const Target& target, const All& from) {
  All all;
  for (P p : from) {
    const std::vector<int64_t> rooms = RoomsBelow(p);
    size_t left = 0;  // of these, are left already
    int unusual = 0, usual = 0;
    for (p.stages = kMostStages; p.stages >= 2 && (usual < 2 || left < rooms.size()); --p.stages) {
      if (!IsLegalWgmma(problem, target, p) || !IsPlausible(problem, target, p)) continue;
      const size_t before = left;
      while (left < rooms.size() && WgmmaSharedBytes(p) < rooms[left]) ++left;
      int& taken = p.stages > kMostUsualStages ? unusual : usual;
      if (taken < (p.stages > kMostUsualStages ? 1 : 2) || left > before) all.push_back(p);
      ++taken;
    }
  }
  return all;
}

All SplitChoices(const Problem& problem, const Target& target) {
  All all = Filter(TileChoices(), [&](const P& p) {
    return HasWgmmaInstruction(p, problem.layout) && IsProducerPlausible(p) &&
           IsTilePlausible(problem, target, p);
  });
  all = Extend(all, {1, 2, 4, 8, 16}, [](P& p, int64_t v) { p.splits = v; });
  all = Extend(all, {1, 2, 4, 8, 16, 32}, [](P& p, int64_t v) { p.slices = v; });
  all = Filter(all, [&](const P& p) { return IsSplitPlausible(problem, target, p); });
  return Extend(all, {0, 1}, [](P& p, int64_t v) { p.persistent = v; });
}

// Copies by threads: for problems of few k-blocks, where the way to the first product is long
// beside the rest.
All DirectTiles() {
  All all;
  for (const auto& [m, n, consumers] : std::initializer_list<std::array<int64_t, 3>>{
           {64, 32, 1}, {64, 64, 1}, {64, 128, 1}, {128, 32, 2}, {128, 64, 2}, {128, 128, 2}}) {
    all.push_back(
        {.tile_m = m, .tile_n = n, .consumers = consumers, .producer_warps = 4, .direct_load = 1});
  }
  return Extend(all, {64, 128}, [](P& p, int64_t v) { p.tile_k = v; });
}

All DirectChoices(const Problem& problem, const Target& target) {
  constexpr int64_t kMostProducts = int64_t{1} << 32;
  if (problem.m * problem.n * problem.k > kMostProducts) return {};
  All all = Extend(DirectTiles(), {1, 2, 4, 8}, [](P& p, int64_t v) { p.splits = v; });
  all = Extend(all, {1, 2, 4, 8}, [](P& p, int64_t v) { p.slices = v; });
  return Filter(all, [&](const P& p) {
    return HasWgmmaInstruction(p, problem.layout) && IsTilePlausible(problem, target, p) &&
           IsSplitPlausible(problem, target, p) && Tiles(problem, p).ctas(p) <= 2 * target.sm_count;
  });
}

All TurnChoices(const Problem& problem, const Target& target) {
  return Filter(PingPongTiles(), [&](const P& p) {
    return HasWgmmaInstruction(p, problem.layout) && IsProducerPlausible(p) &&
           IsTilePlausible(problem, target, p) && IsTurnPlausible(problem, p);
  });
}

}  // namespace

std::vector<P> WgmmaChoices(const Problem& problem, const Target& target) {
  All all = SplitChoices(problem, target);
  const All turns = TurnChoices(problem, target);
  all.insert(all.end(), turns.begin(), turns.end());
  const All direct = DirectChoices(problem, target);
  all.insert(all.end(), direct.begin(), direct.end());
  all = Extend(all, {1, 2}, [](P& p, int64_t v) { p.cluster_m = v; });
  all = Extend(all, {1, 2}, [](P& p, int64_t v) { p.cluster_n = v; });
  all = Extend(all, {1, 2, 3}, [](P& p, int64_t v) { p.ctas_per_sm = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.tma_store = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.stream_c = v; });
  all = WithStages(problem, target, all);
  all = Extend(all, {0, 1, 2}, [](P& p, int64_t v) { p.skew = v; });
  all = Filter(all, [&](const P& p) { return IsSkewPlausible(problem, p); });
  all = Extend(all, {1, 4, 8, 16}, [](P& p, int64_t v) { p.raster_group = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.raster_along_m = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.even_rounds = v; });
  all = Filter(all, [&](const P& p) { return AreEvenRoundsPlausible(problem, target, p); });
  if (target.overlap) all = Extend(all, {0, 1, 2}, [](P& p, int64_t v) { p.overlap = v; });
  return Filter(all, [&](const P& p) {
    return IsLegalWgmma(problem, target, p) && IsRasterPlausible(problem, target, p);
  });
}

}  // namespace warpsmith::hgemm
