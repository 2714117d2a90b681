#include "judge/unused_slots.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/median.h"

namespace warpsmith::judge {
namespace {

constexpr int64_t kLineBytes = 128;
constexpr uint32_t kLines = 64;  // of a slot
constexpr size_t kMostSlots = 64;
// Of guards and of lines that come in pairs nobody is to blame.
constexpr double kTouched = 0.5;

}  // namespace

std::optional<double> ThresholdOf(const std::vector<uint32_t>& warm_cycles,
                                  const std::vector<uint32_t>& cold_cycles) {
  constexpr double kLeastRatio = 1.25, kMostAstray = 0.2;
  if (warm_cycles.empty() || cold_cycles.empty()) return std::nullopt;
  const double warm = Median({warm_cycles.begin(), warm_cycles.end()});
  const double cold = Median({cold_cycles.begin(), cold_cycles.end()});
  const double threshold = (warm + cold) / 2;
  if (cold < kLeastRatio * warm || WarmShare(warm_cycles, threshold) < 1 - kMostAstray ||
      WarmShare(cold_cycles, threshold) > kMostAstray) {
    return std::nullopt;
  }
  return threshold;
}

double WarmShare(std::span<const uint32_t> cycles, double threshold) {
  const auto warm =
      std::count_if(cycles.begin(), cycles.end(), [&](uint32_t each) { return each < threshold; });
  return cycles.empty() ? 0 : static_cast<double>(warm) / static_cast<double>(cycles.size());
}

UnusedSlots::UnusedSlots(OracleDevice& device, const Arena& arena, const BatchPlan& batch)
    : device_(device) {
  const ResolvedTask& problem = arena.problem();
  for (size_t input = 0; input < problem.inputs.size(); ++input) {
    std::set<int> used;
    for (const auto* launches : {&batch.touch, &batch.timed}) {
      for (const PlannedLaunch& launch : *launches) used.insert(launch.slot.at(input));
    }
    const int64_t bytes = problem.inputs[input].bytes;
    Slots slots{problem.inputs[input].name, bytes / kLines / kLineBytes * kLineBytes, {}};
    const auto count = static_cast<int>(arena.assignments().at(input).size());
    for (int slot = 0; slot < count && slots.addresses.size() < kMostSlots; ++slot) {
      if (!used.contains(slot)) slots.addresses.push_back(arena.slots(input).AddressOf(slot));
    }
    if (slots.stride > 0 && !slots.addresses.empty()) inputs_.push_back(std::move(slots));
  }
}

Result<bool> UnusedSlots::Prepare() {
  std::vector<uint32_t> all_warm, all_cold;
  for (const Slots& slots : inputs_) {
    // The first pass brings the lines into L2; the second measures them there.
    TRY(Time(slots));
    const std::vector<uint32_t> warm = TRY(Time(slots));
    TRY(device_.FlushL2());
    const std::vector<uint32_t> cold = TRY(Time(slots));
    all_warm.insert(all_warm.end(), warm.begin(), warm.end());
    all_cold.insert(all_cold.end(), cold.begin(), cold.end());
  }
  TRY(device_.FlushL2());
  TRY(device_.Synchronize());
  const std::optional<double> threshold = ThresholdOf(all_warm, all_cold);
  threshold_ = threshold.value_or(0);
  return threshold.has_value();
}

Result<std::optional<Rejected>> UnusedSlots::Find() {
  for (const Slots& slots : inputs_) {
    const std::vector<uint32_t> cycles = TRY(Time(slots));
    for (size_t i = 0; i < slots.addresses.size(); ++i) {
      const double share = WarmShare(std::span(cycles).subspan(i * kLines, kLines), threshold_);
      if (share < kTouched) continue;
      return std::optional(Rejected{
          "touches-other-slots",
          fmt::format("a launch brought {:.0f} % of an input {} that it was not given into L2: "
                      "what is timed as cold would not be",
                      100 * share, slots.tensor)});
    }
  }
  return std::optional<Rejected>();
}

// Slot by slot, kLines of each.
Result<std::vector<uint32_t>> UnusedSlots::Time(const Slots& slots) {
  const auto count = static_cast<int>(slots.addresses.size());
  const size_t loads = slots.addresses.size() * kLines;
  const uint64_t table = TRY(device_.Upload(slots.addresses));
  const uint64_t cycles = TRY(device_.ReserveResults(loads * sizeof(uint32_t)));
  TRY(device_.kernels().RunProbeLatency(table, count, slots.stride, kLines, cycles,
                                        device_.stream()));
  TRY(device_.Synchronize());
  const auto* first = device_.Results<uint32_t>(cycles);
  return std::vector<uint32_t>(first, first + loads);
}

}  // namespace warpsmith::judge
