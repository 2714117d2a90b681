#include "hgemm/workload_traits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hgemm/mma_sync_family.h"
#include "hgemm/tiling.h"
#include "hgemm/tiny_family.h"
#include "hgemm/wgmma_family.h"
#include "hgemm/wgmma_geometry.h"

namespace warpsmith::hgemm {
namespace {

// SM cycles of an H200, fitted together to what was measured on it (docs/perf.md): each is
// an effective value beside the others, not a measurement of one thing.
constexpr double kTinyRamp = 138;
constexpr double kTinyEpilogue = 198;
constexpr double kTinyReread = 0.289;   // of what warps side by side load again, and L1 has not
constexpr double kLoadIssue = 14.6;     // of an instruction that touches eight rows
constexpr double kLoadLatency = 111;    // global load that hits L2, under some load
constexpr double kRefillLatency = 986;  // from a stage given back to its products
constexpr double kMmaLatency = 44;      // m16n8k16
constexpr double kMmaCycles = 13;       // m16n8k16 on one of four tensor cores
constexpr double kBarrier = 61.4;
constexpr double kClusterBarrier = 501;  // arrive, wait, and the skew between CTAs
constexpr double kClusterStart = 237;
constexpr double kClusterStartPerCta = 8.93;
constexpr double kMulticastWait = 171;
constexpr double kStageInFlight = 1.2;
constexpr double kFillBytesPerCycle = 1.6e3;
constexpr double kFirstStageBytesPerCycle = 537;  // that the first product waits for
constexpr double kTmaRamp = 562;                  // barriers, tensor maps, and the first load
constexpr double kDistributedBytesPerCycle = 14.4;
constexpr double kStoreBytesPerCycle = 38;         // of one SM
constexpr double kStoreBytesPerCycleAll = 3.38e3;  // of all
constexpr double kTmaStoreWait = 164;              // until a bulk store has been read
constexpr double kUnstagedStore = 1.45;            // times as long, from where mma.sync left C
constexpr double kWgmmaEpilogue = 331;             // beside its stores
constexpr double kWgmmaMultiplyAddsPerCycle = 2.51e3;
constexpr double kLeastColumns = 50.8;  // an instruction on fewer takes as long
constexpr double kBlockCycles = 27.1;   // that a warpgroup waits between two k-blocks
// Of a kernel whose operands come from where the launch before left them, beside what depends on
// its tiles.
constexpr double kWgmmaStartUs = 0.5;
constexpr double kMmaSyncStartUs = 0.0902;
constexpr double kSecondLaunchUs = 1.18;
// A second launch that takes its place early waits for the first all the same.
constexpr double kEarlyLaunchUs = 1.57;
// How it suffers from a first kernel that takes all shared memory.
constexpr double kRingUs = 0.258;
constexpr double kSumBytesPerUsSm = 9.46e4;  // what a CTA of it reads
constexpr double kEarlyL2BytesPerUs = 5.3e6;
constexpr double kOverlapUs = 0.177;       // what a launch saves that overlaps the operation ahead
constexpr double kOverlapSetupUs = 0.405;  // and by fetching tensor maps and setting up barriers
constexpr double kCrowdUs = 0.633;         // what is lost where such launches crowd on a few SMs
constexpr double kApartUs = 0.94;          // and by splits that wait without sharing loads
// Of an epilogue through TMA, while the next tile's loads go on.
constexpr double kCooperativeExposed = 0.601;
constexpr double kTmaTurnExposed = 0.0332;    // of one in turns, through TMA
constexpr double kDirectTurnExposed = 0.189;  // and from registers
constexpr double kLaterRamp = 0.478;          // of a later tile of a persistent CTA
constexpr double kDirectRamp = 117;           // of copies by threads, without tensor maps
constexpr double kDirectBlock = 19.3;         // what they cost a k-block, beside
constexpr double kCtaLaunch = 52.1;  // of each CTA of an SM but the first, if they are tiny
constexpr double kPartialBytesPerUs = 2.51e6;  // of partial sums, to a second kernel
constexpr int64_t kSmSharedBytes = 233472;
constexpr int64_t kSmRegisters = 65536;
constexpr int64_t kSmThreads = 2048;
constexpr int64_t kWgmmaOtherRegisters = 40;  // beside the accumulators

double Double(int64_t value) { return static_cast<double>(value); }

int64_t Residency(int64_t threads, int64_t registers_a_thread, int64_t shared_bytes) {
  const int64_t by_registers = kSmRegisters / std::max<int64_t>(1, registers_a_thread * threads);
  const int64_t by_shared = kSmSharedBytes / (shared_bytes + 1024);
  return std::max<int64_t>(1,
                           std::min({by_registers, by_shared, kSmThreads / threads, int64_t{32}}));
}

// CTAs that begin together do so when the last of them has its place.
double ClusterStart(int64_t cluster) {
  return cluster == 1 ? 0 : kClusterStart + kClusterStartPerCta * Double(cluster);
}

// Of CTAs that store at once, side by side on the SMs.
double StoreCycles(const Traits& t, const Target& target) {
  const double bytes = Double(t.tile_m * t.tile_n * 2);
  const double at_once = Double(std::min<int64_t>(t.ctas, target.sm_count));
  return std::max(bytes / kStoreBytesPerCycle, at_once * bytes / kStoreBytesPerCycleAll);
}

// Sums of the CTAs of a cluster added through distributed shared memory.
double ClusterReduceCycles(int64_t sums_sent, int64_t splits) {
  if (splits == 1) return 0;
  return 2 * kClusterBarrier + Double(sums_sent * 4) / kDistributedBytesPerCycle;
}

// A second kernel that adds partial sums up: its launch, and what is written and read once more.
double SecondKernelUs(const Problem& problem, const Target& target, int64_t parts, bool early) {
  const double bytes = Double(problem.m * problem.n * 4 * parts);
  if (!early) return kSecondLaunchUs + 2 * bytes / kPartialBytesPerUs;
  const double sms = std::min(Double(target.sm_count), Double(problem.m * problem.n) / 128);
  return kEarlyLaunchUs + bytes / kEarlyL2BytesPerUs +
         bytes / std::max(1.0, sms) / kSumBytesPerUsSm;
}

// Launches that wait for the one ahead take places where there is most room: more than their share
// on the SMs that the one ahead left idle, unless they come late (overlap 2) or need all of an SM.
double OverlapUs(const Traits& t, const Target& target, int64_t overlap, int64_t shared_bytes) {
  if (overlap == 0) return 0;
  const bool crowds = overlap == 1 && 3 * shared_bytes < kSmSharedBytes &&
                      2 * t.ctas > target.sm_count && 2 * t.ctas < 3 * target.sm_count;
  return crowds ? kCrowdUs : -kOverlapUs;
}

double WgmmaOverlapUs(const Traits& t, const Target& target, const WgmmaParameters& p) {
  if (p.overlap == 0) return 0;
  if (p.overlap == 1 && p.slices > 1) return kCrowdUs;
  const bool apart = p.splits >= 4 && p.cluster_m * p.cluster_n == 1;
  return OverlapUs(t, target, p.overlap, WgmmaSharedBytes(p)) - kOverlapSetupUs +
         (apart ? kApartUs : 0);
}

// Sums of the warp groups of a CTA added through its shared memory.
double SliceReduceCycles(int64_t tile_elements, int64_t slices) {
  if (slices == 1) return 0;
  return 2 * kBarrier + Double(tile_elements * 4 * slices) / 128;
}

// Tensor-core cycles of one CTA whose `warps` are spread over four tensor cores, with so many
// chains of mma that do not depend on each other in each warp.
double MmaCycles(int64_t tile_m, int64_t tile_n, int64_t k, int64_t warps, int64_t chains) {
  const double instructions = Double(tile_m * tile_n * k) / (16 * 8 * 16);
  const double a_core = instructions / Double(std::min<int64_t>(warps, 4));
  const double warps_a_core = Double(CeilDiv(warps, 4));
  const double interval = std::max(kMmaCycles, kMmaLatency / (Double(chains) * warps_a_core));
  return a_core * interval;
}

// Cycles between two k-blocks of a CTA alone, whose loads take turns in a ring of stages: each
// stage is multiplied, given back, asked for again and filled.
double RingPeriod(double multiply, double latency, double bytes, double stages) {
  const double fill = bytes / kFillBytesPerCycle;
  return std::max({multiply, fill, (multiply + latency + fill) / stages});
}

Traits TinyTraits(const Problem& problem, const Target& target, const Config& config) {
  const TinyParameters p = TinyFromConfig(config);
  Traits t;
  t.tile_m = p.warp_m * p.tile_warps_m;
  t.tile_n = p.warp_n * p.tile_warps_n;
  t.ctas = TinyCtas(problem, p);
  const int64_t cta_k = problem.k / p.cluster_slices;
  const int64_t blocks = cta_k / (32 * p.slice_warps);  // k32 blocks of one warp
  const int64_t fragments = p.warp_m / 16 * (p.warp_n / 8);
  const int64_t unroll = std::min(p.unroll, blocks);
  const int64_t batches = blocks > p.unroll ? 2 : 1;  // of operands in registers
  const int64_t registers =
      40 + fragments * 4 * p.accumulators + unroll * batches * (p.warp_m / 2 + p.warp_n / 2);
  t.resident_per_sm =
      Residency(TinyThreads(p), std::min<int64_t>(CeilDiv(registers, 8) * 8, 255), 0);
  t.cluster = p.cluster_slices;
  t.tensor_cycles =
      MmaCycles(t.tile_m, t.tile_n, cta_k, TinyThreads(p) / 32, fragments * p.accumulators);
  // Warps side by side load the same rows again; most of that is caught by L1, not all.
  const double reread = 1 + kTinyReread * Double(p.tile_warps_m + p.tile_warps_n - 2);
  t.l2_bytes = Double((t.tile_m + t.tile_n) * cta_k * 2) * reread;
  t.received_bytes = t.l2_bytes;
  // A batch of `unroll` blocks is one round trip; the next one is under way meanwhile. Every load
  // is an instruction of 32 lanes that touches 8 rows.
  const double loads = Double(unroll * (p.warp_m / 8 + p.warp_n / 8));
  const double batch = std::max(kLoadLatency / (blocks > p.unroll ? 2 : 1), loads * kLoadIssue);
  const double chain = Double(2 * blocks) * std::max(kMmaLatency / Double(p.accumulators),
                                                     Double(fragments) * kMmaCycles);
  const double shuffle = problem.layout == Layout::kNN ? 0.15 : 0;
  t.chain_cycles = kLoadLatency + Double(CeilDiv(blocks, p.unroll) - 1) * batch +
                   loads * kLoadIssue + chain * (1 + shuffle);
  t.ramp_cycles = kTinyRamp + kCtaLaunch * Double(CeilDiv(t.ctas, target.sm_count) - 1);
  t.epilogue_cycles = kTinyEpilogue + StoreCycles(t, target) +
                      SliceReduceCycles(t.tile_m * t.tile_n, p.slice_warps) +
                      ClusterReduceCycles(t.tile_m * t.tile_n, p.cluster_slices);
  t.extra_us += OverlapUs(t, target, p.overlap, 0);
  return t;
}

Traits MmaSyncTraits(const Problem& problem, const Target& target, const Config& config) {
  const MmaSyncParameters p = MmaSyncFromConfig(config);
  Traits t;
  t.tile_m = p.tile_m;
  t.tile_n = p.tile_n;
  t.ctas = CeilDiv(problem.m, p.tile_m) * CeilDiv(problem.n, p.tile_n) * p.splits;
  const int64_t blocks = CeilDiv(CeilDiv(problem.k, p.tile_k), p.splits);
  const int64_t warps = p.warps_m * p.warps_n * p.warps_k;
  const int64_t fragments = p.tile_m / p.warps_m / 16 * (p.tile_n / p.warps_n / 8);
  const int64_t operands = 4 * (p.tile_m / p.warps_m / 16) + 2 * (p.tile_n / p.warps_n / 8);
  const int64_t registers = std::min<int64_t>(255, fragments * 4 + 2 * operands + 48);
  t.resident_per_sm =
      std::max(p.ctas_per_sm, Residency(MmaSyncThreads(p), registers, MmaSyncSharedBytes(p)));
  t.cluster = p.split_cluster ? p.splits : 1;
  t.tensor_cycles = MmaCycles(p.tile_m, p.tile_n, blocks * p.tile_k, warps, fragments);
  // Fragments come out of shared memory at 128 bytes a cycle: small warp tiles are bound by that.
  const double fragment_bytes =
      Double(warps * operands * 4 * 32) * Double(p.tile_k / p.warps_k / 16);
  t.tensor_cycles = std::max(t.tensor_cycles, Double(blocks) * fragment_bytes / 128);
  t.l2_bytes = Double((p.tile_m + p.tile_n) * p.tile_k * 2 * blocks);
  t.received_bytes = t.l2_bytes;
  const double a_block = t.tensor_cycles / Double(blocks) + 2 * kBarrier;
  t.chain_cycles = Double(blocks) * RingPeriod(a_block, kLoadLatency, t.l2_bytes / Double(blocks),
                                               Double(p.stages - 1));
  t.ramp_cycles = kLoadLatency + 250;
  t.epilogue_cycles = 200 + StoreCycles(t, target) * (p.staged_store ? 1.0 : kUnstagedStore) +
                      SliceReduceCycles(p.tile_m * p.tile_n, p.warps_k);
  t.ramp_cycles += ClusterStart(t.cluster);
  if (p.split_cluster) t.epilogue_cycles += ClusterReduceCycles(p.tile_m * p.tile_n, p.splits);
  if (p.splits > 1 && !p.split_cluster) {
    t.extra_us = SecondKernelUs(problem, target, p.splits, p.early_reduce != 0);
  }
  t.extra_us += kMmaSyncStartUs + OverlapUs(t, target, p.overlap, MmaSyncSharedBytes(p));
  t.exposed_epilogue = t.resident_per_sm > 1 ? 0 : 1;
  t.raster_group = p.raster_group;
  return t;
}

double WgmmaTensorCycles(const WgmmaParameters& p, int64_t blocks) {
  const double columns = Double(WgmmaWarpgroupColumns(p));
  return Double(p.tile_m * p.tile_n * blocks * p.tile_k) / kWgmmaMultiplyAddsPerCycle *
         std::max(1.0, kLeastColumns / columns);
}

// Of a k-block, in a CTA alone. What a warpgroup waits before it goes on, those that share the tile
// fill with products of theirs.
double WgmmaBlockCycles(const WgmmaParameters& p, double multiply) {
  const double own = multiply / Double(WgmmaSharers(p));
  return own + std::max(multiply - own, kBlockCycles) + (p.direct_load ? kDirectBlock : 0);
}

// K loop of a CTA alone, for one of its `tiles`. Only stages that are filled again are waited for:
// a ring that holds all of K is full before the first product, and goes on from tile to tile.
double WgmmaChainCycles(const WgmmaParameters& p, double multiply, double bytes, int64_t blocks,
                        int64_t tiles) {
  const double a_block = WgmmaBlockCycles(p, multiply);
  // A stage that is multicast is free only when all its readers are through with it.
  const double refill = kRefillLatency + (p.cluster_m * p.cluster_n > 1 ? kMulticastWait : 0);
  // One group of wgmma is in flight, so that the stage before it is given back late.
  const double stages = Double(p.stages) - kStageInFlight;
  const double refilled = Double(std::max<int64_t>(0, blocks * tiles - p.stages)) / Double(tiles);
  return (Double(blocks) - refilled) * a_block +
         refilled * RingPeriod(a_block, refill, bytes, stages);
}

// A tile's stores through TMA, of which all that are staged together end with a wait.
double TmaStoreWaits(const WgmmaParameters& p) {
  if (!p.persistent) return kTmaStoreWait;
  const int64_t panels = 2 * WgmmaAccumulators(p) / WgmmaPanelColumns(p);
  return kTmaStoreWait * Double(CeilDiv(panels, WgmmaStorePanels(p)));
}

Traits WgmmaTraits(const Problem& problem, const Target& target, const Config& config) {
  const WgmmaParameters p = WgmmaFromConfig(config);
  Traits t;
  t.tile_m = p.tile_m;
  t.tile_n = p.tile_n;
  t.ctas = CeilDiv(CeilDiv(problem.m, p.tile_m), p.cluster_m) * p.cluster_m *
           CeilDiv(CeilDiv(problem.n, p.tile_n), p.cluster_n) * p.cluster_n * WgmmaParts(p);
  const int64_t blocks = CeilDiv(CeilDiv(problem.k, p.tile_k), WgmmaParts(p));
  // The compiler is held to ctas_per_sm, but small CTAs leave room for more.
  const int64_t registers = WgmmaAccumulators(p) + kWgmmaOtherRegisters;
  t.resident_per_sm =
      std::max(p.ctas_per_sm, Residency(WgmmaThreads(p), registers, WgmmaSharedBytes(p)));
  t.cluster = WgmmaClusterSize(p);
  t.tensor_cycles = WgmmaTensorCycles(p, blocks);
  t.l2_bytes = Double(blocks * p.tile_k * 2) *
               (Double(p.tile_m) / Double(p.cluster_n) + Double(p.tile_n) / Double(p.cluster_m));
  t.received_bytes = Double(blocks * p.tile_k * 2 * (p.tile_m + p.tile_n));
  t.loads_by_tma = p.direct_load == 0;
  t.streams_c = p.stream_c != 0;
  const int64_t tiles = p.persistent ? CeilDiv(t.ctas, target.sm_count) : 1;  // of a CTA
  t.chain_cycles = WgmmaChainCycles(p, t.tensor_cycles / Double(blocks),
                                    t.received_bytes / Double(blocks), blocks, tiles);
  t.ramp_cycles = (p.direct_load ? kDirectRamp : kTmaRamp) + ClusterStart(t.cluster) +
                  Double((p.tile_m + p.tile_n) * p.tile_k * 2) / kFirstStageBytesPerCycle;
  // A CTA's own share stays where it is.
  const int64_t sent = p.tile_m * p.tile_n / p.splits * (p.splits - 1);
  t.epilogue_cycles = kWgmmaEpilogue + StoreCycles(t, target) +
                      (p.tma_store ? TmaStoreWaits(p) : 0) + ClusterReduceCycles(sent, p.splits);
  if (p.slices > 1) {
    t.extra_us = SecondKernelUs(problem, target, p.slices, true) +
                 kRingUs * Double(WgmmaSharedBytes(p)) / Double(kSmSharedBytes);
  }
  t.extra_us += kWgmmaStartUs + WgmmaOverlapUs(t, target, p);
  // Warpgroups in turns hide their stores behind each other's products; those that share a tile
  // store at the same time, while only loads go on, and wait for all of it where TMA does not
  // store.
  t.exposed_epilogue = p.ctas_per_sm > 1 ? 0
                       : p.ping_pong     ? (p.tma_store ? kTmaTurnExposed : kDirectTurnExposed)
                       : p.persistent && p.consumers > 1 && p.tma_store ? kCooperativeExposed
                                                                        : 1;
  t.later_ramp = p.persistent ? kLaterRamp : 1;
  t.raster_group = p.raster_group;
  return t;
}

struct FamilyTraits {
  std::string_view family;
  Traits (*traits)(const Problem&, const Target&, const Config&);
};
constexpr std::array<FamilyTraits, 3> kTraitsTable = {
    {{"tiny", TinyTraits}, {"mma_sync", MmaSyncTraits}, {"wgmma", WgmmaTraits}}};

}  // namespace

std::optional<Traits> TraitsOf(const Problem& problem, const Target& target, const Point& point) {
  for (const FamilyTraits& row : kTraitsTable) {
    if (row.family == point.family) return row.traits(problem, target, point.config);
  }
  return std::nullopt;
}

}  // namespace warpsmith::hgemm
