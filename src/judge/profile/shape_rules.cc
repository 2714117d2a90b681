// What the launch itself costs: too few warps on an SM, too few blocks, a last wave half empty, a
// kernel shorter than its start.
#include <algorithm>
#include <cmath>

#include "judge/profile/metrics.h"
#include "judge/profile/reading.h"

namespace warpsmith::profile {
namespace {

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
  found->push_back(
      {limit->bottleneck,
       {},
       0.6 * (1 - *theoretical / 100) * reading.exposed(),
       "an SM holds at most " + Rounded(*theoretical) + " % of its warps, limited by " +
           limit->words,
       reading.Cite({metric::kTheoreticalOccupancyPct, metric::kOccupancyPct, limit->metric,
                     metric::kRegisters, metric::kSharedBytes, metric::kEligibleWarps})});
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
    found->push_back({Bottleneck::kSmallGrid,
                      {},
                      idle * reading.exposed(),
                      "the grid fills " + Rounded(100 * *waves) + " % of the device",
                      cites});
  } else {
    found->push_back(
        {Bottleneck::kTail,
         {},
         idle * std::max(reading.exposed(), 0.5),
         Rounded(*waves) + " waves of blocks leave " + Rounded(100 * idle) + " % of the slots idle",
         cites});
  }
}

// A kernel takes about two microseconds to start and to drain, whatever it does.
void Short(const Reading& reading, std::vector<Statement>* found) {
  constexpr double kStartNs = 2'000, kShortNs = 5'000;
  const auto time_ns = reading.At(metric::kTimeNs);
  if (!time_ns || *time_ns <= 0 || *time_ns > kShortNs) return;
  // With others around it each pays again.
  const double most = reading.launches() > 1 ? 0.95 : 0.7;
  found->push_back({Bottleneck::kLaunch,
                    {},
                    std::min(kStartNs / *time_ns, most),
                    "it runs for " + Rounded(*time_ns / 1e3) + " us, one of " +
                        std::to_string(reading.launches()) +
                        (reading.launches() == 1 ? " launch" : " launches"),
                    reading.Cite({metric::kTimeNs, metric::kCycles})});
}

}  // namespace

void ShapeRules(const Reading& reading, std::vector<Statement>* found) {
  LowOccupancy(reading, found);
  Waves(reading, found);
  Short(reading, found);
}

}  // namespace warpsmith::profile
