#include "judge/profile/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

// Loads or stores: the metrics that tell how well they use what they move.
struct GlobalAccess {
  std::string_view use_pct, sectors_per_request, sectors;
};
constexpr GlobalAccess kLoads = {metric::kLoadSectorUsePct, metric::kLoadSectorsPerRequest,
                                 metric::kLoadSectors};
constexpr GlobalAccess kStores = {metric::kStoreSectorUsePct, metric::kStoreSectorsPerRequest,
                                  metric::kStoreSectors};

class Reading {
 public:
  Reading(const KernelProfile& kernel, const ProblemFacts& facts, size_t launches)
      : kernel_(kernel), facts_(facts), launches_(launches) {
    double busiest = 0;
    for (const std::string_view unit :
         {metric::kSmPct, metric::kDramPct, metric::kL2Pct, metric::kL1Pct, metric::kIssuePct,
          metric::kTensorPct, metric::kFmaPct}) {
      const auto pct = At(unit);
      if (!pct) continue;
      has_counters_ = true;
      busiest = std::max(busiest, *pct);
    }
    if (has_counters_) exposed_ = std::clamp(1 - busiest / 100, 0.0, 1.0);
  }

  std::optional<double> At(std::string_view metric) const { return Find(kernel_, metric); }
  double Or(std::string_view metric, double absent) const { return At(metric).value_or(absent); }

  // "metric = value" for those that are there.
  std::vector<Citation> Cite(std::initializer_list<std::string_view> metrics) const {
    std::vector<Citation> cites;
    for (const std::string_view metric : metrics) {
      if (const auto value = At(metric)) cites.push_back({std::string(metric), *value});
    }
    return cites;
  }

  // Fraction of all waiting that these reasons make up; nullopt where they are all absent.
  std::optional<double> StallShare(std::initializer_list<std::string_view> reasons) const {
    const auto all = At(metric::kWarpLatency);
    if (!all || *all <= 0) return std::nullopt;
    std::optional<double> these;
    for (const std::string_view reason : reasons) {
      if (const auto value = At(reason)) these = these.value_or(0) + std::max(*value, 0.0);
    }
    if (!these) return std::nullopt;
    return std::clamp(*these / *all, 0.0, 1.0);
  }

  // Fraction of the sectors that these accesses move for nothing. Bytes of a sector that were asked
  // for say it exactly. They are 0 where only copies to shared memory (cp.async) move sectors: the
  // counter does not know what those ask for. Sectors for each request only say it where they pass
  // 16, what a warp's widest access needs.
  std::optional<double> Wasted(const GlobalAccess& access) const {
    if (const auto pct = At(access.use_pct); pct && *pct > 0) {
      return std::clamp(1 - *pct / 100, 0.0, 1.0);
    }
    constexpr double kWidestAccess = 16;
    const auto sectors = At(access.sectors_per_request);
    if (!sectors || *sectors <= 0) return std::nullopt;
    return std::clamp(1 - kWidestAccess / *sectors, 0.0, 1.0);
  }

  // Their fraction of all sectors of global accesses; 1 where it is not known.
  double ShareOf(const GlobalAccess& access) const {
    const double all = Or(metric::kLoadSectors, 0) + Or(metric::kStoreSectors, 0);
    const auto these = At(access.sectors);
    return these && all > 0 ? std::clamp(*these / all, 0.0, 1.0) : 1;
  }

  // Of loads and stores together; 0 where it is not known.
  double WastedSectors() const {
    double wasted = 0;
    for (const GlobalAccess& access : {kLoads, kStores}) {
      wasted += ShareOf(access) * Wasted(access).value_or(0);
    }
    return std::clamp(wasted, 0.0, 1.0);
  }

  // Fraction of shared memory's wavefronts that are bank conflicts; 0 where it is not known.
  double ConflictShare() const {
    const auto conflicts = At(metric::kBankConflicts);
    const auto wavefronts = At(metric::kSharedWavefronts);
    if (!conflicts || !wavefronts || *wavefronts <= 0) return 0;
    return std::clamp(*conflicts / *wavefronts, 0.0, 1.0);
  }

  // Part of the time in which even the busiest unit idles: what latency can be blamed for. Half
  // where no unit's use is known.
  double exposed() const { return exposed_; }
  bool has_counters() const { return has_counters_; }
  const ProblemFacts& facts() const { return facts_; }
  size_t launches() const { return launches_; }  // in the whole plan

 private:
  const KernelProfile& kernel_;
  const ProblemFacts& facts_;
  size_t launches_;
  double exposed_ = 0.5;
  bool has_counters_ = false;
};

void Say(Bottleneck bottleneck, double weight, std::string says, std::vector<Citation> cites,
         std::vector<Statement>* found) {
  found->push_back({bottleneck, {}, weight, std::move(says), std::move(cites)});
}

// --- A unit that is busy most of the time is the bottleneck: nothing else makes the kernel faster.

constexpr double kPipeBusyPct = 60;    // from here on a unit counts as saturated
constexpr double kClearlyMorePct = 5;  // of two busy memories, the inner needs this much more

// `cause` is the fraction of the unit's work for which another rule has a reason: the reason comes
// first then.
void Busy(const Reading& reading, Bottleneck bottleneck, std::string_view metric,
          const std::string& what, std::vector<Statement>* found, double cause = 0) {
  const auto pct = reading.At(metric);
  if (!pct || *pct < kPipeBusyPct) return;
  Say(bottleneck, std::min(*pct / 100, 1.0) * (1 - cause),
      what + " at " + Rounded(*pct) + " % of its peak", reading.Cite({metric}), found);
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
    Say(Bottleneck::kTensorIdle, 0.95 * (1 - *tensor / 100),
        "the tensor pipe works at " + Rounded(*tensor) + " % of its peak",
        reading.Cite({metric::kTensorPct, metric::kFmaPct}), found);
  }
  const auto opcodes = reading.At(metric::kTensorOpcodePct);
  if (!reading.At(metric::kTensorPct) && opcodes && *opcodes == 0) {
    Say(Bottleneck::kTensorIdle, 0.9, "the code has no tensor-core instruction",
        reading.Cite({metric::kTensorOpcodePct, metric::kFmaOpcodePct}), found);
  }
}

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

// --- Accesses that cost more than they must: collisions in banks, half-used sectors, spills.

constexpr double kNoticeable = 0.1;

// How much the kernel depends on its global accesses: by use of a memory, or by waiting for it.
double DependsOnGlobal(const Reading& reading) {
  const double busy = std::max({reading.Or(metric::kDramPct, 0), reading.Or(metric::kL2Pct, 0),
                                reading.Or(metric::kL1Pct, 0)}) /
                      100;
  const auto waiting = reading.StallShare({metric::kStallLongScoreboard, metric::kStallLg});
  return std::clamp(std::max(busy, waiting.value_or(0)), 0.0, 1.0);
}

double DependsOnShared(const Reading& reading) {
  const auto waiting = reading.StallShare({metric::kStallShortScoreboard, metric::kStallMio});
  return std::clamp(std::max(reading.Or(metric::kL1Pct, 0) / 100, waiting.value_or(0)), 0.0, 1.0);
}

void BankConflicts(const Reading& reading, std::vector<Statement>* found) {
  const double share = reading.ConflictShare();
  if (share < kNoticeable) return;
  Say(Bottleneck::kBankConflicts, share * DependsOnShared(reading),
      "bank conflicts make up " + Rounded(100 * share) + " % of shared memory's wavefronts",
      reading.Cite({metric::kBankConflicts, metric::kSharedWavefronts, metric::kL1Pct,
                    metric::kStallShortScoreboard, metric::kStallMio}),
      found);
}

void Uncoalesced(const Reading& reading, const std::string& what, const GlobalAccess& access,
                 std::vector<Statement>* found) {
  constexpr double kMuch = 0.4;
  const auto wasted = reading.Wasted(access);
  if (!wasted || *wasted < kMuch) return;
  Say(Bottleneck::kUncoalesced, *wasted * reading.ShareOf(access) * DependsOnGlobal(reading),
      "global " + what + " waste " + Rounded(100 * *wasted) + " % of the sectors they move",
      reading.Cite({access.use_pct, access.sectors_per_request, access.sectors}), found);
}

void Spills(const Reading& reading, std::vector<Statement>* found) {
  const auto loads = reading.At(metric::kLocalLoadSectors);
  const auto stores = reading.At(metric::kLocalStoreSectors);
  if (loads || stores) {
    const double local = loads.value_or(0) + stores.value_or(0);
    const double global =
        reading.Or(metric::kLoadSectors, 0) + reading.Or(metric::kStoreSectors, 0);
    const double share = local > 0 ? local / (local + global) : 0;
    if (share < kNoticeable) return;
    Say(Bottleneck::kLocalMemory, share * DependsOnGlobal(reading),
        "local memory is " + Rounded(100 * share) + " % of the sectors in L1",
        reading.Cite({metric::kLocalLoadSectors, metric::kLocalStoreSectors, metric::kLoadSectors,
                      metric::kStoreSectors}),
        found);
    return;
  }
  if (const auto bytes = reading.At(metric::kSpillBytes); bytes && *bytes > 0) {
    Say(Bottleneck::kLocalMemory, 0.4,
        "the compiler spilled " + Rounded(*bytes) + " bytes a thread",
        reading.Cite({metric::kSpillBytes, metric::kRegisters}), found);
  }
}

void AccessRules(const Reading& reading, std::vector<Statement>* found) {
  BankConflicts(reading, found);
  Uncoalesced(reading, "loads", kLoads, found);
  Uncoalesced(reading, "stores", kStores, found);
  Spills(reading, found);
}

// --- Where no unit is saturated, the reasons for which warps wait share the idle time.

constexpr double kNoticeableStall = 0.15;  // of all waiting

void Waiting(const Reading& reading, Bottleneck bottleneck, const std::string& what,
             std::initializer_list<std::string_view> reasons, std::vector<Statement>* found) {
  const auto share = reading.StallShare(reasons);
  if (!share || *share < kNoticeableStall) return;
  std::vector<Citation> cites = reading.Cite(reasons);
  for (Citation& all : reading.Cite({metric::kWarpLatency, metric::kIssuePct})) {
    cites.push_back(std::move(all));
  }
  Say(bottleneck, *share * reading.exposed(),
      Rounded(100 * *share) + " % of the time that warps wait they wait for " + what,
      std::move(cites), found);
}

void LatencyRules(const Reading& reading, std::vector<Statement>* found) {
  Waiting(reading, Bottleneck::kMemoryLatency, "global or local memory",
          {metric::kStallLongScoreboard, metric::kStallLg}, found);
  Waiting(reading, Bottleneck::kSharedLatency, "shared memory or its queue",
          {metric::kStallShortScoreboard, metric::kStallMio}, found);
  Waiting(reading, Bottleneck::kBarrier, "other warps",
          {metric::kStallBarrier, metric::kStallMembar}, found);
  Waiting(reading, Bottleneck::kExecutionLatency, "their own previous instructions",
          {metric::kStallWait, metric::kStallBranch, metric::kStallDispatch,
           metric::kStallNoInstruction, metric::kStallMathPipe, metric::kStallGmma},
          found);
}

// --- What the launch itself costs: too few warps on an SM, too few blocks, a last wave half empty,
// a kernel shorter than its start.

struct Limit {
  Bottleneck bottleneck;
  std::string_view metric;
  const char* words;
};
constexpr Limit kLimits[] = {
    {Bottleneck::kOccupancyRegisters, metric::kLimitRegisters, "registers"},
    {Bottleneck::kOccupancyShared, metric::kLimitShared, "shared memory"},
    {Bottleneck::kOccupancyBlocks, metric::kLimitBlocks, "the number of blocks"},
    {Bottleneck::kOccupancyBlocks, metric::kLimitWarps, "the block's size"},
};

const Limit* Tightest(const Reading& reading) {
  const Limit* tightest = nullptr;
  for (const Limit& limit : kLimits) {
    const auto blocks = reading.At(limit.metric);
    if (blocks && (tightest == nullptr || *blocks < *reading.At(tightest->metric))) {
      tightest = &limit;
    }
  }
  return tightest;
}

// Few warps are no fault by themselves: they matter where latency is exposed.
void LowOccupancy(const Reading& reading, std::vector<Statement>* found) {
  constexpr double kLowPct = 50;
  const auto theoretical = reading.At(metric::kTheoreticalOccupancyPct);
  const Limit* limit = Tightest(reading);
  if (!theoretical || *theoretical > kLowPct || limit == nullptr) return;
  Say(limit->bottleneck, 0.6 * (1 - *theoretical / 100) * reading.exposed(),
      "an SM holds at most " + Rounded(*theoretical) + " % of its warps, limited by " +
          limit->words,
      reading.Cite({metric::kTheoreticalOccupancyPct, metric::kOccupancyPct, limit->metric,
                    metric::kRegisters, metric::kSharedBytes, metric::kEligibleWarps}),
      found);
}

void Waves(const Reading& reading, std::vector<Statement>* found) {
  constexpr double kNoticeable = 0.1;
  const auto waves = reading.At(metric::kWaves);
  if (!waves || *waves <= 0) return;
  const double whole = std::ceil(*waves);
  const double idle = 1 - *waves / whole;
  if (idle < kNoticeable) return;
  const auto cites = reading.Cite({metric::kWaves, metric::kGridBlocks});
  if (*waves < 1) {
    Say(Bottleneck::kSmallGrid, idle * reading.exposed(),
        "the grid fills " + Rounded(100 * *waves) + " % of the device", cites, found);
  } else {
    Say(Bottleneck::kTail, idle * std::max(reading.exposed(), 0.5),
        Rounded(*waves) + " waves of blocks leave " + Rounded(100 * idle) + " % of the slots idle",
        cites, found);
  }
}

// A kernel takes about two microseconds to start and to drain, whatever it does.
void Short(const Reading& reading, std::vector<Statement>* found) {
  constexpr double kStartNs = 2'000, kShortNs = 5'000;
  const auto time_ns = reading.At(metric::kTimeNs);
  if (!time_ns || *time_ns <= 0 || *time_ns > kShortNs) return;
  // With others around it each pays again.
  const double most = reading.launches() > 1 ? 0.95 : 0.7;
  Say(Bottleneck::kLaunch, std::min(kStartNs / *time_ns, most),
      "it runs for " + Rounded(*time_ns / 1e3) + " us, one of " +
          std::to_string(reading.launches()) + (reading.launches() == 1 ? " launch" : " launches"),
      reading.Cite({metric::kTimeNs, metric::kCycles}), found);
}

void ShapeRules(const Reading& reading, std::vector<Statement>* found) {
  LowOccupancy(reading, found);
  Waves(reading, found);
  Short(reading, found);
}

// --- Without counters the work still tells: its bytes and its arithmetic against the part's.

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
  Say(bottleneck, std::min(pct / 100, 1.0),
      what + " at " + Rounded(std::min(pct, 100.0)) + " % of the part's peak", {{metric, pct}},
      found);
}

}  // namespace

std::string Rounded(double value) {
  const double size = std::fabs(value);
  const int decimals = size >= 10 || size == std::floor(size) ? 0 : size >= 1 ? 1 : 2;
  return fmt::format("{:.{}f}", size >= 1e15 ? 1e15 : value, size >= 1e15 ? 0 : decimals);
}

bool HasCounters(const KernelProfile& kernel) { return Reading(kernel, {}, 1).has_counters(); }

std::vector<Statement> KernelStatements(const KernelProfile& kernel, const ProblemFacts& facts,
                                        size_t launches) {
  const Reading reading(kernel, facts, launches);
  std::vector<Statement> found;
  ThroughputRules(reading, &found);
  AccessRules(reading, &found);
  LatencyRules(reading, &found);
  ShapeRules(reading, &found);
  return found;
}

std::vector<Statement> RooflineStatements(const ProblemFacts& facts, double time_us,
                                          bool has_counters) {
  std::vector<Statement> found;
  const auto roofline = RooflineOf(facts);
  if (!roofline || has_counters) return found;  // counters know better
  if (time_us > 0) {
    Achieved(Bottleneck::kMemoryBandwidth, roofline->memory_seconds, time_us,
             "the bytes that must move are moved", "roofline__memory_pct", &found);
    Achieved(Bottleneck::kComputeTensor, roofline->math_seconds, time_us, "the arithmetic is done",
             "roofline__compute_pct", &found);
    return found;
  }
  if (roofline->ridge <= 0 || facts.flops <= 0) return found;  // 0: the task does not say
  const bool math = facts.tensor_types && roofline->intensity > roofline->ridge;
  Say(math ? Bottleneck::kComputeTensor : Bottleneck::kMemoryBandwidth, kExpected,
      std::string("not measured; by its arithmetic for each byte the work is limited "
                  "by ") +
          (math ? "the tensor cores" : "memory, unless its arithmetic is slow"),
      {{"roofline__flops_per_byte", roofline->intensity},
       {"roofline__ridge_flops_per_byte", roofline->ridge}},
      &found);
  return found;
}

}  // namespace warpsmith::profile
