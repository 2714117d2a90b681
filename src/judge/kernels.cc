#include "judge/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "embedded/judge_device_sources.h"

namespace warpsmith::judge {
namespace {

constexpr uint32_t kBlockThreads = 256;
constexpr int64_t kReferenceTileM = 128, kReferenceTileN = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

struct Kernels::Table {
  cuda::Module module;
  int sm_count;
  cuda::Function fill, fill_tensor, spread, reference, verify, poison, fill_guards, check_guards,
      copy, compare, evict, flip, probe;

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

Result<Kernels> Kernels::Load(std::string_view cubin, int sm_count) {
  cuda::Module module = TRY(cuda::Module::Load(cubin));
  Table table{std::move(module), sm_count, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
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
  };
  for (const auto& [name, function] : names) *function = TRY(table.module.Kernel(name));
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

Status Kernels::RunProbe(uint64_t target, uint32_t value, const cuda::Stream& stream) const {
  cuda::LaunchConfig config;
  return Submit(table_->probe, config, stream, target, value);
}

}  // namespace warpsmith::judge
