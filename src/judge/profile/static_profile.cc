#include "judge/profile/static_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "core/device.h"
#include "core/resolved_plan.h"
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

namespace {

using Opcodes = std::map<std::string, int64_t>;

void Put(KernelProfile* kernel, std::string_view name, double value) {
  kernel->metrics.emplace_back(name, value);
}

const KernelResources* FindResources(const Artifact& artifact, const std::string& kernel) {
  for (const KernelResources& resources : artifact.kernels) {
    if (resources.name == kernel) return &resources;
  }
  return nullptr;
}

// Percent of the image's instructions whose mnemonic begins with one of these.
double Share(const Opcodes& opcodes, std::initializer_list<std::string_view> mnemonics) {
  int64_t all = 0, these = 0;
  for (const auto& [name, count] : opcodes) {
    all += count;
    const std::string_view opcode = name;  // clang 14 captures no structured binding
    const auto begins = [&](std::string_view mnemonic) { return opcode.starts_with(mnemonic); };
    if (std::any_of(mnemonics.begin(), mnemonics.end(), begins)) these += count;
  }
  return all > 0 ? 100.0 * static_cast<double>(these) / static_cast<double>(all) : 0;
}

// The image's, so the same for each of its kernels.
void PutOpcodes(const Opcodes& opcodes, KernelProfile* kernel) {
  if (opcodes.empty()) return;
  Put(kernel, metric::kTensorOpcodePct,
      Share(opcodes, {"HMMA", "HGMMA", "IMMA", "IGMMA", "QGMMA", "DMMA", "BMMA", "BGMMA", "OMMA",
                      "QMMA", "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA"}));
  Put(kernel, metric::kFmaOpcodePct,
      Share(opcodes, {"FFMA", "FMUL", "FADD", "HFMA2", "HMUL2", "HADD2"}));
  Put(kernel, metric::kMemoryOpcodePct,
      Share(opcodes, {"LDG", "STG", "UTMALDG", "UTMASTG", "RED"}));
  Put(kernel, metric::kSharedOpcodePct, Share(opcodes, {"LDS", "STS", "LDSM", "STSM", "ATOMS"}));
  Put(kernel, metric::kBarrierOpcodePct, Share(opcodes, {"BAR", "SYNCS", "WARPSYNC", "UCGABAR"}));
}

void PutResources(const KernelResources* resources, KernelProfile* kernel) {
  if (resources == nullptr) return;
  Put(kernel, metric::kRegisters, resources->registers_per_thread);
  Put(kernel, metric::kSpillBytes, resources->spill_store_bytes + resources->spill_load_bytes);
}

void PutOccupancy(const Occupancy& occupancy, double blocks, int sm_count, KernelProfile* kernel) {
  Put(kernel, metric::kTheoreticalOccupancyPct, occupancy.pct);
  Put(kernel, metric::kLimitRegisters, occupancy.by_registers);
  Put(kernel, metric::kLimitShared, occupancy.by_shared);
  Put(kernel, metric::kLimitBlocks, occupancy.by_blocks);
  Put(kernel, metric::kLimitWarps, occupancy.by_warps);
  if (sm_count > 0 && occupancy.blocks > 0) {
    Put(kernel, metric::kWaves, blocks / (static_cast<double>(sm_count) * occupancy.blocks));
  }
}

double Product(const std::array<uint32_t, 3>& extents) {
  return static_cast<double>(extents[0]) * extents[1] * extents[2];
}

KernelProfile OfLaunch(const ResolvedLaunch& launch, const Artifact& artifact, int sm_count) {
  KernelProfile kernel{launch.kernel, {}};
  const KernelResources* resources = FindResources(artifact, launch.kernel);
  BlockResources block;
  block.threads = static_cast<int>(Product(launch.block));
  block.registers_per_thread = resources == nullptr ? 0 : resources->registers_per_thread;
  block.shared_bytes =
      int64_t{launch.shared_bytes} + (resources == nullptr ? 0 : resources->static_shared_bytes);
  Put(&kernel, metric::kBlockThreads, block.threads);
  Put(&kernel, metric::kGridBlocks, Product(launch.grid));
  Put(&kernel, metric::kSharedBytes, static_cast<double>(block.shared_bytes));
  PutResources(resources, &kernel);
  // Without its registers a kernel's occupancy is not known.
  const auto limits = LimitsOf(artifact.architecture);
  if (limits && resources != nullptr) {
    if (const auto occupancy = TheoreticalOccupancy(*limits, block)) {
      PutOccupancy(*occupancy, Product(launch.grid), sm_count, &kernel);
    }
  }
  PutOpcodes(artifact.opcodes, &kernel);
  return kernel;
}

Result<std::vector<KernelProfile>> OfPlan(const ProfileJob& job, int sm_count) {
  // max_active_clusters needs a driver; its answer only shapes persistent grids, which fill the
  // device: one cluster for each SM is near enough.
  const int sms = std::max(sm_count, 1);
  const ClusterOccupancy one_per_sm = [sms](const ResolvedLaunch& launch) -> Result<int64_t> {
    return std::max<int64_t>(1, sms / std::max<int64_t>(1, std::llround(Product(launch.cluster))));
  };
  const ResolvedPlan plan =
      TRY(Resolve(job.candidate.plan, job.task, job.workload.sizes, sms, one_per_sm));
  std::vector<KernelProfile> kernels;
  for (const ResolvedOperation& operation : plan.operations) {
    if (const auto* launch = std::get_if<ResolvedLaunch>(&operation)) {
      kernels.push_back(OfLaunch(*launch, job.artifact, sm_count));
    }
  }
  return kernels;
}

KernelProfile OfName(const std::string& name, const Artifact& artifact) {
  KernelProfile kernel{name, {}};
  PutResources(FindResources(artifact, name), &kernel);
  PutOpcodes(artifact.opcodes, &kernel);
  return kernel;
}

std::vector<KernelProfile> OfProgram(const Artifact& artifact,
                                     const std::vector<KernelTime>& times) {
  std::vector<KernelProfile> kernels;
  for (const KernelTime& time : times) kernels.push_back(OfName(time.kernel, artifact));
  if (!times.empty()) return kernels;
  for (const KernelResources& resources : artifact.kernels) {
    kernels.push_back(OfName(resources.name, artifact));
  }
  return kernels;
}

void PutTimes(const std::vector<KernelTime>& times, std::vector<KernelProfile>* kernels) {
  const bool in_order = times.size() == kernels->size();
  for (size_t i = 0; i < kernels->size(); ++i) {
    KernelProfile& kernel = (*kernels)[i];
    const auto named = [&](const KernelTime& time) { return time.kernel == kernel.kernel; };
    const auto found = in_order ? times.begin() + static_cast<std::ptrdiff_t>(i)
                                : std::find_if(times.begin(), times.end(), named);
    if (found != times.end() && found->time_ns > 0) {
      kernel.metrics.emplace(kernel.metrics.begin(), metric::kTimeNs, found->time_ns);
    }
  }
}

}  // namespace

Result<Profile> StaticProfile(const ProfileJob& job, int sm_count,
                              const std::vector<KernelTime>& times) {
  Profile profile;
  profile.source = times.empty() ? "static" : "cupti";
  profile.kernels = job.candidate.form == Form::kKernel ? TRY(OfPlan(job, sm_count))
                                                        : OfProgram(job.artifact, times);
  PutTimes(times, &profile.kernels);
  return profile;
}

}  // namespace warpsmith::profile
