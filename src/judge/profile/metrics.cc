#include "judge/profile/metrics.h"

#include <charconv>
#include <cmath>

namespace warpsmith::profile {
namespace {

using namespace metric;  // NOLINT(google-build-using-namespace): the names are made for this

constexpr std::array kEverywhere = {
    kTimeNs,
    kCycles,
    kInstructions,
    kSmPct,
    kDramPct,
    kL2Pct,
    kL1Pct,
    kDramReadBytes,
    kDramWriteBytes,
    kL2HitPct,
    kL1HitPct,
    kTensorPct,
    kFmaPct,
    kAluPct,
    kFp64Pct,
    kXuPct,
    kLsuPct,
    kIssuePct,
    kEligibleWarps,
    kOccupancyPct,
    kTheoreticalOccupancyPct,
    kLimitRegisters,
    kLimitShared,
    kLimitBlocks,
    kLimitWarps,
    kRegisters,
    kSharedBytes,
    kBlockThreads,
    kGridBlocks,
    kWaves,
    kWarpLatency,
    kStallLongScoreboard,
    kStallShortScoreboard,
    kStallBarrier,
    kStallMembar,
    kStallMathPipe,
    kStallWait,
    kStallMio,
    kStallLg,
    kStallNotSelected,
    kStallNoInstruction,
    kStallDispatch,
    kStallBranch,
    kStallDrain,
    kStallSleeping,
    kSharedWavefronts,
    kBankConflicts,
    kLoadSectorsPerRequest,
    kStoreSectorsPerRequest,
    kLoadSectors,
    kStoreSectors,
    kLoadSectorUsePct,
    kStoreSectorUsePct,
    kLocalLoadSectors,
    kLocalStoreSectors,
};

}  // namespace

std::vector<std::string> CounterSet(std::string_view architecture) {
  std::vector<std::string> names(kEverywhere.begin(), kEverywhere.end());
  if (ArchitectureNumber(architecture) == 90) names.emplace_back(kStallGmma);
  return names;
}

std::optional<double> Find(const KernelProfile& kernel, std::string_view name) {
  for (const auto& [known, value] : kernel.metrics) {
    if (known != name) continue;
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

int ArchitectureNumber(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return 0;
  int number = 0;
  const char* end = architecture.data() + architecture.size();
  const auto parsed = std::from_chars(architecture.data() + 3, end, number);
  const std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  const bool known = parsed.ec == std::errc() && (rest.empty() || rest == "a" || rest == "f");
  return known ? number : 0;
}

}  // namespace warpsmith::profile
