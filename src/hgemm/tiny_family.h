// Family "tiny" (device/tiny.cuh): one shape a kernel, operands straight into registers.
#ifndef WARPSMITH_HGEMM_TINY_FAMILY_H_
#define WARPSMITH_HGEMM_TINY_FAMILY_H_

#include <cstdint>
#include <vector>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

// A configuration's parameters. As a Config each is an integer of the same name.
struct TinyParameters {
  int64_t warp_m = 16, warp_n = 8;              // tile of a warp, elements
  int64_t tile_warps_m = 1, tile_warps_n = 1;   // warps of a CTA side by side over C
  int64_t slice_warps = 1, cluster_slices = 1;  // ways K is split, in a CTA and over a cluster
  int64_t unroll = 1;                           // k32 blocks whose loads are in flight together
  int64_t accumulators = 1;                     // 2: even and odd k16 steps apart
  int64_t permute = 0;                          // NN: 1: prmt; 0: movmatrix
  // 1: begins before the operation ahead of it has ended; 2: and when that has ended lets the next
  // one begin, in an even spread over the SMs (sm_90)
  int64_t overlap = 0;
  bool operator==(const TinyParameters&) const = default;
};

Config ToConfig(const TinyParameters& parameters);
Config LeastOfTiny();  // as Family's
TinyParameters TinyFromConfig(const Config& config);

int64_t TinyThreads(const TinyParameters& parameters);                       // of a CTA
int64_t TinyCtas(const Problem& problem, const TinyParameters& parameters);  // of the grid

// The kernel would be built, fit the target and be right for this problem.
bool IsLegalTiny(const Problem& problem, const Target& target, const TinyParameters& parameters);

// The legal configurations that could win; none where a problem is too large for the family.
std::vector<Config> TinyConfigs(const Problem& problem, const Target& target);
Candidate MakeTiny(const Problem& problem, const Config& config);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TINY_FAMILY_H_
