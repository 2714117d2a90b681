// Family "mma_sync" (device/mma_sync.cuh): any size, sm_80 and later.
#ifndef WARPSMITH_HGEMM_MMA_SYNC_FAMILY_H_
#define WARPSMITH_HGEMM_MMA_SYNC_FAMILY_H_

#include <cstdint>
#include <vector>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

// A configuration's parameters. As a Config each is an integer of the same name.
struct MmaSyncParameters {
  int64_t tile_m = 0, tile_n = 0, tile_k = 0;     // of a CTA, elements
  int64_t warps_m = 1, warps_n = 1, warps_k = 1;  // warps_k warp groups share every k-block
  int64_t stages = 2;                             // k-blocks in the shared-memory ring
  int64_t splits = 1;                             // CTAs that share a tile, each a K range
  int64_t split_cluster = 0;  // 1: they are a cluster (sm_90); 0: workspace and a second kernel
  int64_t staged_store = 0;   // 1: C passes through shared memory in whole lines
  int64_t raster_group = 1;   // rows of tiles walked together
  int64_t ctas_per_sm = 1;    // what the register budget leaves room for
  int64_t baked = 0;          // 1: M, N, K are constants of the kernel
  int64_t early_reduce = 0;   // 1: the second kernel takes its place while the first runs (sm_90)
  // 1: begins before the operation ahead of it has ended; 2: and when that has ended lets the next
  // one begin, in an even spread over the SMs (sm_90)
  int64_t overlap = 0;
  bool operator==(const MmaSyncParameters&) const = default;
};

Config ToConfig(const MmaSyncParameters& parameters);
Config LeastOfMmaSync();  // as Family's
MmaSyncParameters MmaSyncFromConfig(const Config& config);

int64_t MmaSyncThreads(const MmaSyncParameters& parameters);
int64_t MmaSyncSharedBytes(const MmaSyncParameters& parameters);  // dynamic; as device SharedBytes

// The kernel would be built, fit the target and be right for this problem.
bool IsLegalMmaSync(const Problem& problem, const Target& target,
                    const MmaSyncParameters& parameters);

// The legal configurations that could win: neither a handful of CTAs nor a crowd of tiny ones.
std::vector<Config> MmaSyncConfigs(const Problem& problem, const Target& target);
Candidate MakeMmaSync(const Problem& problem, const Config& config);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_MMA_SYNC_FAMILY_H_
