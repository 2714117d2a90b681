// Accesses that cost more than they must: collisions in banks, half-used sectors, spills.
#include <algorithm>

#include "judge/profile/metrics.h"
#include "judge/profile/reading.h"

namespace warpsmith::profile {
namespace {

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
  found->push_back(
      {Bottleneck::kBankConflicts,
       {},
       share * DependsOnShared(reading),
       "bank conflicts make up " + Rounded(100 * share) + " % of shared memory's wavefronts",
       reading.Cite({metric::kBankConflicts, metric::kSharedWavefronts, metric::kL1Pct,
                     metric::kStallShortScoreboard, metric::kStallMio})});
}

void Uncoalesced(const Reading& reading, const std::string& what, const GlobalAccess& access,
                 std::vector<Statement>* found) {
  constexpr double kMuch = 0.4;
  const auto wasted = reading.Wasted(access);
  if (!wasted || *wasted < kMuch) return;
  found->push_back(
      {Bottleneck::kUncoalesced,
       {},
       *wasted * reading.ShareOf(access) * DependsOnGlobal(reading),
       "global " + what + " waste " + Rounded(100 * *wasted) + " % of the sectors they move",
       reading.Cite({access.use_pct, access.sectors_per_request, access.sectors})});
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
    found->push_back({Bottleneck::kLocalMemory,
                      {},
                      share * DependsOnGlobal(reading),
                      "local memory is " + Rounded(100 * share) + " % of the sectors in L1",
                      reading.Cite({metric::kLocalLoadSectors, metric::kLocalStoreSectors,
                                    metric::kLoadSectors, metric::kStoreSectors})});
    return;
  }
  if (const auto bytes = reading.At(metric::kSpillBytes); bytes && *bytes > 0) {
    found->push_back({Bottleneck::kLocalMemory,
                      {},
                      0.4,
                      "the compiler spilled " + Rounded(*bytes) + " bytes a thread",
                      reading.Cite({metric::kSpillBytes, metric::kRegisters})});
  }
}

}  // namespace

void AccessRules(const Reading& reading, std::vector<Statement>* found) {
  BankConflicts(reading, found);
  Uncoalesced(reading, "loads", kLoads, found);
  Uncoalesced(reading, "stores", kStores, found);
  Spills(reading, found);
}

}  // namespace warpsmith::profile
