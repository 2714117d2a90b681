// What a configuration asks of the machine, in terms that all families share: the cost model's
// input.
#ifndef WARPSMITH_HGEMM_WORKLOAD_TRAITS_H_
#define WARPSMITH_HGEMM_WORKLOAD_TRAITS_H_

#include <cstdint>
#include <optional>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

// Cycles are SM cycles. A CTA's share of the SM is what it costs when the SM is full; its chain is
// how long it takes when it is alone, waiting for each thing in turn.
struct Traits {
  int64_t ctas = 1;
  int64_t tile_m = 0, tile_n = 0;  // of C, a CTA
  int64_t resident_per_sm = 1;     // CTAs
  int64_t cluster = 1;             // CTAs that must start together within one GPC
  double tensor_cycles = 0;        // of the tensor cores, a CTA
  double l2_bytes = 0;             // read through L2 by a CTA, multicast counted once
  double received_bytes = 0;       // that arrive in the CTA: multicast saves none of these
  bool loads_by_tma = false;       // else threads copy
  double chain_cycles = 0;         // k loop of one CTA alone
  double ramp_cycles = 0;          // before the first product
  double epilogue_cycles = 0;      // from the last product to the end of the CTA
  double exposed_epilogue = 1;     // share of it that the SM's next tile does not hide
  double later_ramp = 1;           // share of the ramp that this next tile pays again
  double extra_us = 0;             // further launches, with what they read and write
  bool streams_c = false;          // C is the first to leave L2
  int64_t raster_group = 1;        // tile rows or columns that are walked together
};

// nullopt for a family that the table does not know.
std::optional<Traits> TraitsOf(const Problem& problem, const Target& target, const Point& point);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_WORKLOAD_TRAITS_H_
