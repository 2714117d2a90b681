// A unit that is busy most of the time is the bottleneck: nothing else can make the kernel faster.
#include <algorithm>

#include "judge/profile/metrics.h"
#include "judge/profile/reading.h"

namespace warpsmith::profile {
namespace {

constexpr double kPipeBusyPct = 60;    // from here on a unit counts as saturated
constexpr double kClearlyMorePct = 5;  // of two busy memories, the inner needs this much more

// `cause` is the fraction of the unit's work for which another rule has a reason: the reason comes
// first then.
void Busy(const Reading& reading, Bottleneck bottleneck, std::string_view metric,
          const std::string& what, std::vector<Statement>* found, double cause = 0) {
  const auto pct = reading.At(metric);
  if (!pct || *pct < kPipeBusyPct) return;
  found->push_back({bottleneck,
                    {},
                    std::min(*pct / 100, 1.0) * (1 - cause),
                    what + " at " + Rounded(*pct) + " % of its peak",
                    reading.Cite({metric})});
}

void Memories(const Reading& reading, std::vector<Statement>* found) {
  const double dram = reading.Or(metric::kDramPct, 0);
  const double l2 = reading.Or(metric::kL2Pct, 0);
  const double wasted = reading.WastedSectors();
  Busy(reading, Bottleneck::kMemoryBandwidth, metric::kDramPct, "device memory works", found,
       wasted);
  if (l2 >= dram + kClearlyMorePct) {
    Busy(reading, Bottleneck::kL2Bandwidth, metric::kL2Pct, "the L2 cache works", found, wasted);
  }
  if (reading.Or(metric::kL1Pct, 0) >= std::max(dram, l2) + kClearlyMorePct) {
    Busy(reading, Bottleneck::kL1Bandwidth, metric::kL1Pct, "L1 and shared memory work", found,
         reading.ConflictShare());
  }
}

// The work could be the tensor cores' by its types and by its arithmetic for each byte, and by the
// roofline the arithmetic decides; but the cores stand still.
void TensorIdle(const Reading& reading, std::vector<Statement>* found) {
  constexpr double kIdlePct = 10;
  const ProblemFacts& facts = reading.facts();
  if (!facts.tensor_types || facts.flops <= 0 || facts.bytes <= 0) return;
  constexpr double kSuitsTensorCores = 32;  // FLOPs a byte
  if (facts.flops / facts.bytes < kSuitsTensorCores) return;
  if (const auto tensor = reading.At(metric::kTensorPct); tensor && *tensor < kIdlePct) {
    found->push_back({Bottleneck::kTensorIdle,
                      {},
                      0.95 * (1 - *tensor / 100),
                      "the tensor pipe works at " + Rounded(*tensor) + " % of its peak",
                      reading.Cite({metric::kTensorPct, metric::kFmaPct})});
  }
  const auto opcodes = reading.At(metric::kTensorOpcodePct);
  if (!reading.At(metric::kTensorPct) && opcodes && *opcodes == 0) {
    found->push_back({Bottleneck::kTensorIdle,
                      {},
                      0.9,
                      "the code has no tensor-core instruction",
                      reading.Cite({metric::kTensorOpcodePct, metric::kFmaOpcodePct})});
  }
}

}  // namespace

void ThroughputRules(const Reading& reading, std::vector<Statement>* found) {
  Memories(reading, found);
  Busy(reading, Bottleneck::kComputeTensor, metric::kTensorPct, "the tensor pipe works", found);
  Busy(reading, Bottleneck::kComputeFma, metric::kFmaPct, "the FMA pipe works", found);
  Busy(reading, Bottleneck::kComputeOther, metric::kAluPct, "the integer pipe works", found);
  Busy(reading, Bottleneck::kComputeOther, metric::kFp64Pct, "the FP64 pipe works", found);
  Busy(reading, Bottleneck::kComputeOther, metric::kXuPct, "the transcendental pipe works", found);
  Busy(reading, Bottleneck::kInstructionIssue, metric::kIssuePct, "the schedulers issue", found);
  TensorIdle(reading, found);
}

}  // namespace warpsmith::profile
