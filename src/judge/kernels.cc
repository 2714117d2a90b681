#include "judge/kernels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "cuda/memory.h"
#include "embedded/judge_device_sources.h"

namespace warpsmith::judge {
namespace {

constexpr uint32_t kBlockThreads = 256;
constexpr int64_t kReferenceTileM = 128, kReferenceTileN = 64;

constexpr uint32_t kFloodThreads = 512;
constexpr std::array<int64_t, 3> kFloodedLocalBytes = {0, 4096, kMostFloodedLocalBytes};
constexpr std::array<const char*, 3> kFloodNames = {"JudgeFlood", "JudgeFlood4096",
                                                    "JudgeFlood16384"};

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

struct Kernels::Table {
  cuda::Module module;
  int sm_count;
  int flood_blocks_per_sm = 0;
  uint32_t flood_shared_bytes = 0, occupy_shared_bytes = 0;
  std::array<cuda::Function, kFloodedLocalBytes.size()> flood;
  cuda::Function fill, fill_tensor, spread, reference, verify, poison, fill_guards, check_guards,
      copy, compare, evict, flip, probe, watch, await_flood, probe_latency;

  Table(cuda::Module loaded, int sms) : module(std::move(loaded)), sm_count(sms) {}
  Status SizeFloods(const cuda::DeviceProperties& device);

  // Blocks for `items` of work in each of `rows` rows: about eight blocks an SM over all rows.
  cuda::LaunchConfig Grid(int64_t items, int rows) const {
    const int64_t wanted = std::max<int64_t>(1, CeilDiv(items, kBlockThreads));
    const int64_t most = std::max<int64_t>(1, CeilDiv(int64_t{8} * sm_count, rows));
    cuda::LaunchConfig config;
    config.grid = {static_cast<uint32_t>(std::min(wanted, most)), static_cast<uint32_t>(rows), 1};
    config.block = {kBlockThreads, 1, 1};
    return config;
  }
};

namespace {

template <typename... Arguments>
Status Submit(const cuda::Function& function, const cuda::LaunchConfig& config,
              const cuda::Stream& stream, Arguments... arguments) {
  std::array<void*, sizeof...(Arguments)> pointers = {&arguments...};
  return cuda::Launch(function, config, stream, pointers.data());
}

}  // namespace

Candidate KernelSources() {
  Candidate candidate;
  for (const EmbeddedFile& file : embedded::JudgeDeviceSources()) {
    candidate.sources[std::string(file.path)] = std::string(file.contents);
  }
  candidate.entry = "judge/device/judge.cu";
  candidate.toolchain = "nvrtc";
  return candidate;
}

Result<std::string> BuildJudgeKernels(Compiler& compiler, const std::string& architecture) {
  CompileOutcome outcome = TRY(compiler.Compile(KernelSources(), architecture));
  if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
    return Error{ErrorCode::kInternal,
                 fmt::format("the judge's own kernels did not compile for {}: {}\n{}", architecture,
                             failed->reason, failed->log),
                 "report this with the versions that `warpsmith doctor` prints"};
  }
  return std::move(std::get<Artifact>(outcome).image);
}

// Blocks that fill an SM's threads, and what each has of its shared memory; a block that has it all.
Status Kernels::Table::SizeFloods(const cuda::DeviceProperties& device) {
  constexpr int kReservedBytes = 1024;  // of each block, by the driver
  flood_blocks_per_sm = std::max(1, device.max_threads_per_sm / int{kFloodThreads});
  occupy_shared_bytes = static_cast<uint32_t>(device.max_shared_bytes_per_block);
  const int share = device.max_shared_bytes_per_sm / flood_blocks_per_sm - kReservedBytes;
  flood_shared_bytes = static_cast<uint32_t>(std::max(0, share / 4 * 4));
  for (const cuda::Function& function : flood) {
    TRY(cuda::RaiseMaxDynamicShared(function, occupy_shared_bytes));
  }
  return {};
}

Result<Kernels> Kernels::Load(std::string_view cubin, const cuda::DeviceProperties& device) {
  cuda::Module module = TRY(cuda::Module::Load(cubin));
  Table table(std::move(module), device.sm_count);
  const std::pair<const char*, cuda::Function*> names[] = {
      {"JudgeFill", &table.fill},
      {"JudgeFillTensor", &table.fill_tensor},
      {"JudgeSpread", &table.spread},
      {"JudgeReference", &table.reference},
      {"JudgeVerify", &table.verify},
      {"JudgePoison", &table.poison},
      {"JudgeFillGuards", &table.fill_guards},
      {"JudgeCheckGuards", &table.check_guards},
      {"JudgeCopy", &table.copy},
      {"JudgeCompare", &table.compare},
      {"JudgeEvict", &table.evict},
      {"JudgeFlip", &table.flip},
      {"JudgeProbe", &table.probe},
      {"JudgeWatch", &table.watch},
      {"JudgeAwaitFlood", &table.await_flood},
      {"JudgeProbeLatency", &table.probe_latency},
  };
  for (const auto& [name, function] : names) *function = TRY(table.module.Kernel(name));
  for (size_t i = 0; i < kFloodNames.size(); ++i) {
    table.flood[i] = TRY(table.module.Kernel(kFloodNames[i]));
  }
  TRY(table.SizeFloods(device));
  return Kernels(std::make_shared<const Table>(std::move(table)));
}

Status Kernels::RunFill(const FillParameters& parameters, const cuda::Stream& stream) const {
  return Submit(table_->fill, table_->Grid(parameters.rows * parameters.columns, 1), stream,
                parameters);
}

Status Kernels::RunFillTensor(const TensorFill& parameters, const cuda::Stream& stream) const {
  return Submit(table_->fill_tensor, table_->Grid(parameters.elements, 1), stream, parameters);
}

Status Kernels::RunSpread(uint64_t data, DType dtype, int64_t elements, uint64_t result,
                          const cuda::Stream& stream) const {
  return Submit(table_->spread, table_->Grid(elements, 1), stream, data,
                static_cast<int32_t>(dtype), elements, result);
}

Status Kernels::RunReference(uint64_t entries, int count, const ReferenceShape& shape,
                             const cuda::Stream& stream) const {
  cuda::LaunchConfig config;
  config.grid = {static_cast<uint32_t>(CeilDiv(shape.n, kReferenceTileN)),
                 static_cast<uint32_t>(CeilDiv(shape.m, kReferenceTileM)),
                 static_cast<uint32_t>(count)};
  config.block = {kBlockThreads, 1, 1};
  return Submit(table_->reference, config, stream, entries, shape);
}

Status Kernels::RunVerify(const VerifyParameters& parameters, int count,
                          const cuda::Stream& stream) const {
  return Submit(table_->verify, table_->Grid(parameters.elements, count), stream, parameters);
}

Status Kernels::RunPoison(const Region& region, uint16_t pattern,
                          const cuda::Stream& stream) const {
  return Submit(table_->poison,
                table_->Grid(CeilDiv(region.bytes, 16), static_cast<int>(region.slots)), stream,
                region, uint32_t{pattern});
}

Status Kernels::RunFillGuards(const Region& region, uint64_t secret,
                              const cuda::Stream& stream) const {
  return Submit(table_->fill_guards, table_->Grid(region.guard, static_cast<int>(region.slots) + 1),
                stream, region, secret);
}

Status Kernels::RunCheckGuards(const Region& region, uint64_t secret, uint64_t damage,
                               const cuda::Stream& stream) const {
  return Submit(table_->check_guards,
                table_->Grid(region.guard, static_cast<int>(region.slots) + 1), stream, region,
                secret, damage);
}

Status Kernels::RunCopy(uint64_t entries, int count, int64_t bytes,
                        const cuda::Stream& stream) const {
  return Submit(table_->copy, table_->Grid(CeilDiv(bytes, 16), count), stream, entries, bytes);
}

Status Kernels::RunCompare(uint64_t entries, int count, int64_t bytes, uint16_t pattern,
                           uint64_t differences, const cuda::Stream& stream) const {
  return Submit(table_->compare, table_->Grid(CeilDiv(bytes, 16), count), stream, entries, bytes,
                uint32_t{pattern}, differences);
}

Status Kernels::RunEvict(uint64_t buffer, int64_t bytes, uint64_t sink,
                         const cuda::Stream& stream) const {
  return Submit(table_->evict, table_->Grid(bytes / 16, 1), stream, buffer, bytes / 16, sink);
}

// Few blocks: whoever begins early finds the other SMs free.
Status Kernels::RunFlip(const FlipParameters& parameters, const cuda::Stream& stream) const {
  constexpr uint32_t kBlocks = 8;
  cuda::LaunchConfig config;
  config.grid = {kBlocks, 1, 1};
  config.block = {kBlockThreads, 1, 1};
  return Submit(table_->flip, config, stream, parameters);
}

Status Kernels::RunWatch(uint32_t duration_us, uint64_t away_ns, const cuda::Stream& stream) const {
  return Submit(table_->watch, cuda::LaunchConfig(), stream, duration_us, away_ns);
}

Status Kernels::RunFlood(int64_t local_bytes, uint64_t arrived, const cuda::Stream& stream) const {
  const auto* fits =
      std::lower_bound(kFloodedLocalBytes.begin(), kFloodedLocalBytes.end(), local_bytes);
  if (fits == kFloodedLocalBytes.end()) {
    return Error{ErrorCode::kInternal,
                 fmt::format("{} bytes of local memory a thread cannot be cleared", local_bytes),
                 ""};
  }
  cuda::LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(table_->flood_blocks_per_sm * table_->sm_count);
  config.block = {kFloodThreads, 1, 1};
  config.shared_bytes = table_->flood_shared_bytes;
  TRY(cuda::FillAsync(arrived, 0, sizeof(uint32_t), stream));
  return Submit(table_->flood[static_cast<size_t>(fits - kFloodedLocalBytes.begin())], config,
                stream, FloodParameters{arrived, 0, config.shared_bytes});
}

Status Kernels::RunOccupy(int free_sms, uint32_t hold_us, uint64_t arrived,
                          const cuda::Stream& stream) const {
  cuda::LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(std::max(1, table_->sm_count - free_sms));
  config.block = {kFloodThreads, 1, 1};
  config.shared_bytes = table_->occupy_shared_bytes;
  return Submit(table_->flood.front(), config, stream, FloodParameters{arrived, hold_us, 0});
}

Status Kernels::RunAwaitOccupied(int free_sms, uint64_t arrived, const cuda::Stream& stream) const {
  const auto count = static_cast<uint32_t>(std::max(1, table_->sm_count - free_sms));
  return Submit(table_->await_flood, cuda::LaunchConfig(), stream, arrived, count);
}

Status Kernels::RunProbeLatency(uint64_t slots, int slot_count, int64_t stride, uint32_t count,
                                uint64_t cycles, const cuda::Stream& stream) const {
  cuda::LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(slot_count);
  return Submit(table_->probe_latency, config, stream, slots, stride, count, cycles);
}

Status Kernels::RunProbe(uint64_t target, uint32_t value, const cuda::Stream& stream) const {
  cuda::LaunchConfig config;
  return Submit(table_->probe, config, stream, target, value);
}

}  // namespace warpsmith::judge
