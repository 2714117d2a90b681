// Where no unit is saturated, the reasons for which warps wait share the idle time between them.
#include "judge/profile/metrics.h"
#include "judge/profile/reading.h"

namespace warpsmith::profile {
namespace {

constexpr double kNoticeableStall = 0.15;  // of all waiting

void Waiting(const Reading& reading, Bottleneck bottleneck, const std::string& what,
             std::initializer_list<std::string_view> reasons, std::vector<Statement>* found) {
  const auto share = reading.StallShare(reasons);
  if (!share || *share < kNoticeableStall) return;
  std::vector<Citation> cites = reading.Cite(reasons);
  for (Citation& all : reading.Cite({metric::kWarpLatency, metric::kIssuePct})) {
    cites.push_back(std::move(all));
  }
  found->push_back({bottleneck,
                    {},
                    *share * reading.exposed(),
                    Rounded(100 * *share) + " % of the time that warps wait they wait for " + what,
                    std::move(cites)});
}

}  // namespace

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

}  // namespace warpsmith::profile
