// Without counters the work itself still tells: its bytes and its arithmetic against the part's.
#include <algorithm>

#include "judge/profile/reading.h"

namespace warpsmith::profile {
namespace {

constexpr double kBusyPct = 60;
constexpr double kExpected = 0;  // what is only expected is said, but names no bottleneck

struct Roofline {
  double intensity = 0, ridge = 0;              // FLOPs a byte
  double memory_seconds = 0, math_seconds = 0;  // at the part's peaks
};

std::optional<Roofline> RooflineOf(const ProblemFacts& facts) {
  if (facts.bytes <= 0 || facts.memory_bytes_per_s <= 0) return std::nullopt;
  Roofline roofline;
  roofline.intensity = facts.flops / facts.bytes;
  roofline.memory_seconds = facts.bytes / facts.memory_bytes_per_s;
  if (facts.tensor_flops_per_s > 0) {
    roofline.ridge = facts.tensor_flops_per_s / facts.memory_bytes_per_s;
    roofline.math_seconds = facts.flops / facts.tensor_flops_per_s;
  }
  return roofline;
}

void Achieved(Bottleneck bottleneck, double seconds, double time_us, const std::string& what,
              const char* metric, std::vector<Statement>* found) {
  const double pct = 100 * seconds / (time_us * 1e-6);
  if (pct < kBusyPct) return;
  found->push_back({bottleneck,
                    {},
                    std::min(pct / 100, 1.0),
                    what + " at " + Rounded(std::min(pct, 100.0)) + " % of the part's peak",
                    {{metric, pct}}});
}

}  // namespace

void RooflineRules(const ProblemFacts& facts, double time_us, bool has_counters,
                   std::vector<Statement>* found) {
  const auto roofline = RooflineOf(facts);
  if (!roofline || has_counters) return;  // counters know better
  if (time_us > 0) {
    Achieved(Bottleneck::kMemoryBandwidth, roofline->memory_seconds, time_us,
             "the bytes that must move are moved", "roofline__memory_pct", found);
    Achieved(Bottleneck::kComputeTensor, roofline->math_seconds, time_us, "the arithmetic is done",
             "roofline__compute_pct", found);
    return;
  }
  if (roofline->ridge <= 0 || facts.flops <= 0) return;  // 0: the task does not say
  const bool math = facts.tensor_types && roofline->intensity > roofline->ridge;
  found->push_back({math ? Bottleneck::kComputeTensor : Bottleneck::kMemoryBandwidth,
                    {},
                    kExpected,
                    std::string("not measured; by its arithmetic for each byte the work is limited "
                                "by ") +
                        (math ? "the tensor cores" : "memory, unless its arithmetic is slow"),
                    {{"roofline__flops_per_byte", roofline->intensity},
                     {"roofline__ridge_flops_per_byte", roofline->ridge}}});
}

}  // namespace warpsmith::profile
