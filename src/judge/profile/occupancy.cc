#include "judge/profile/occupancy.h"

#include <algorithm>
#include <array>

#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kRegisterUnit = 256;    // registers are given to warps in such pieces
constexpr int kSchedulers = 4;        // each has a quarter of the registers
constexpr int64_t kSharedUnit = 128;  // bytes
constexpr int kUnlimited = 1 << 10;   // more blocks than any SM holds
constexpr int kMaxThreads = 1024;

struct Row {
  int architecture;
  SmLimits limits;
};
constexpr int64_t kKiB = 1024;
constexpr std::array<Row, 12> kRows = {{
    {75, {32, 16, 65'536, 64 * kKiB, 0}},
    {80, {64, 32, 65'536, 164 * kKiB, kKiB}},
    {86, {48, 16, 65'536, 100 * kKiB, kKiB}},
    {87, {48, 16, 65'536, 164 * kKiB, kKiB}},
    {88, {48, 16, 65'536, 164 * kKiB, kKiB}},
    {89, {48, 24, 65'536, 100 * kKiB, kKiB}},
    {90, {64, 32, 65'536, 228 * kKiB, kKiB}},
    {100, {64, 32, 65'536, 228 * kKiB, kKiB}},
    {103, {64, 32, 65'536, 228 * kKiB, kKiB}},
    {110, {48, 24, 65'536, 228 * kKiB, kKiB}},
    {120, {48, 24, 65'536, 100 * kKiB, kKiB}},
    {121, {48, 24, 65'536, 100 * kKiB, kKiB}},
}};

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

int BlocksByRegisters(const SmLimits& limits, const BlockResources& block, int warps) {
  if (block.registers_per_thread <= 0) return kUnlimited;
  const int64_t per_warp =
      RoundedUp(int64_t{block.registers_per_thread} * kWarpThreads, kRegisterUnit);
  const int64_t per_scheduler = limits.registers / kSchedulers / per_warp;
  return static_cast<int>(per_scheduler * kSchedulers / warps);
}

int BlocksByShared(const SmLimits& limits, const BlockResources& block) {
  const int64_t bytes = RoundedUp(block.shared_bytes + limits.reserved_shared_bytes, kSharedUnit);
  if (bytes <= 0) return kUnlimited;
  return static_cast<int>(std::min<int64_t>(limits.shared_bytes / bytes, kUnlimited));
}

}  // namespace

std::optional<SmLimits> LimitsOf(std::string_view architecture) {
  const int number = ArchitectureNumber(architecture);
  for (const Row& row : kRows) {
    if (row.architecture == number) return row.limits;
  }
  return std::nullopt;
}

std::optional<Occupancy> TheoreticalOccupancy(const SmLimits& limits, const BlockResources& block) {
  if (block.threads < 1 || block.threads > kMaxThreads || block.shared_bytes < 0) {
    return std::nullopt;
  }
  const int warps = (block.threads + kWarpThreads - 1) / kWarpThreads;
  Occupancy occupancy;
  occupancy.by_registers = BlocksByRegisters(limits, block, warps);
  occupancy.by_shared = BlocksByShared(limits, block);
  occupancy.by_blocks = limits.blocks;
  occupancy.by_warps = limits.warps / warps;
  occupancy.blocks = std::min(
      {occupancy.by_registers, occupancy.by_shared, occupancy.by_blocks, occupancy.by_warps});
  occupancy.pct = 100.0 * occupancy.blocks * warps / limits.warps;
  return occupancy;
}

}  // namespace warpsmith::profile
