// Family "wgmma" (device/wgmma.cuh): TMA, mbarriers and wgmma; sm_90a only.
#ifndef WARPSMITH_HGEMM_WGMMA_FAMILY_H_
#define WARPSMITH_HGEMM_WGMMA_FAMILY_H_

#include <cstdint>
#include <vector>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

// A configuration's parameters. As a Config each is an integer of the same name. What each one
// does stands at the top of device/wgmma.cuh.
struct WgmmaParameters {
  int64_t tile_m = 128, tile_n = 128, tile_k = 64;  // of a CTA, elements
  int64_t stages = 4;                               // k-blocks in the shared-memory ring
  int64_t consumers = 2, producer_warps = 1;        // warpgroups that multiply; warps that load
  int64_t cluster_m = 1, cluster_n = 1;             // tiles that share loads by multicast
  int64_t splits = 1;                               // CTAs of a cluster that share a tile's K
  int64_t raster_group = 8, raster_along_m = 1;     // order of tiles
  int64_t persistent = 0;                           // 1: as many CTAs as fit walk over all tiles
  int64_t skew = 0;                                 // k-blocks between warpgroups
  int64_t ctas_per_sm = 1;  // what registers and shared memory leave room for
  int64_t tma_store = 1;    // 0: C straight from registers
  int64_t stream_c = 0;     // 1: C is the first to leave L2
  int64_t slices = 1;       // clusters that share a tile's K; a second kernel adds up their sums
  int64_t ping_pong = 0;    // 1: two consumers on tiles of their own, one stores as one multiplies
  int64_t overlap = 0;      // as in tiny_family.h
  int64_t direct_load = 0;  // 1: a warpgroup copies operands without TMA
  int64_t even_rounds = 0;  // 1: persistent: no more CTAs than share the tiles evenly
  int64_t l2_promotion = 256;  // bytes that a load has L2 fetch together: 128, 256
  bool operator==(const WgmmaParameters&) const = default;
};

Config ToConfig(const WgmmaParameters& parameters);
Config LeastOfWgmma();  // as Family's
WgmmaParameters WgmmaFromConfig(const Config& config);

int64_t WgmmaThreads(const WgmmaParameters& parameters);      // of a CTA
int64_t WgmmaClusterSize(const WgmmaParameters& parameters);  // CTAs
int64_t WgmmaSharedBytes(const WgmmaParameters& parameters);  // dynamic; as device kSharedBytes

// The kernel would be built without spills, fit the target and be right for this problem.
bool IsLegalWgmma(const Problem& problem, const Target& target, const WgmmaParameters& parameters);

// The legal configurations that could win.
std::vector<Config> WgmmaConfigs(const Problem& problem, const Target& target);
Candidate MakeWgmma(const Problem& problem, const Config& config);

// Legal, distinct, in a fixed order.
std::vector<WgmmaParameters> WgmmaChoices(const Problem& problem, const Target& target);

// What follows from a wgmma configuration, as Geometry in device/wgmma_tile.cuh computes it.

// Warpgroups that share a tile, how they divide it, and what each one has of it.
int64_t WgmmaSharers(const WgmmaParameters& parameters);
int64_t WgmmaWarpgroupColumns(const WgmmaParameters& parameters);
int64_t WgmmaAccumulators(const WgmmaParameters& parameters);  // registers of a thread

int64_t WgmmaPanelColumns(const WgmmaParameters& parameters);  // of C, as it is stored by TMA
// Panels of C staged per warpgroup: as many as fit, of those that divide a tile's.
int64_t WgmmaStorePanels(const WgmmaParameters& parameters);

// K ranges of a tile: its splits and slices. Each needs a k-block.
int64_t WgmmaParts(const WgmmaParameters& parameters);
int64_t WgmmaMinimumKBlocks(const WgmmaParameters& parameters);

// There is a wgmma instruction for every warpgroup's share.
bool HasWgmmaInstruction(const WgmmaParameters& parameters, Layout layout);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_WGMMA_FAMILY_H_
