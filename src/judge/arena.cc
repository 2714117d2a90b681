#include "judge/arena.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace warpsmith::judge {
namespace {

constexpr int64_t kProductBytes = 8, kMagnitudeBytes = 4;
constexpr size_t kOutputRole = kInputs;

int64_t PaddedReferenceBytes(int64_t elements) {
  return PaddedBytes(elements * kProductBytes) + PaddedBytes(elements * kMagnitudeBytes);
}

ReferenceAddress ReferenceAt(uint64_t base, int64_t index, int64_t elements) {
  const uint64_t product = base + static_cast<uint64_t>(index * PaddedReferenceBytes(elements));
  return {product, product + static_cast<uint64_t>(PaddedBytes(elements * kProductBytes))};
}

Fill FillOf(CheckInput input) {
  switch (input) {
    case CheckInput::kNormal:
      return Fill::kNormal;
    case CheckInput::kZeroOne:
      return Fill::kZeroOne;
    case CheckInput::kFp16Accumulate:
      return Fill::kFp16Accumulate;
    case CheckInput::kAdversarial:
      return Fill::kAdversarial;
  }
  return Fill::kNormal;
}

// About a thousand products are 1 whatever K is: exact in FP16, yet not a handful of values.
double ZeroOneDensity(int64_t k) {
  return std::min(0.5, std::sqrt(1000.0 / static_cast<double>(k)));
}

bool Applies(CheckInput input, const GemmProblem& problem) {
  return input != CheckInput::kFp16Accumulate || problem.k >= kFp16DetectorMinimumK;
}

Result<cuda::DeviceBuffer> AllocateBytes(int64_t bytes) {
  return cuda::DeviceBuffer::Allocate(static_cast<size_t>(std::max<int64_t>(bytes, 256)));
}

}  // namespace

Result<std::unique_ptr<Arena>> Arena::Create(OracleDevice& device, std::string id,
                                             const GemmProblem& problem, const ArenaPlan& plan,
                                             Random& random) {
  std::unique_ptr<Arena> arena(new Arena(device, std::move(id), problem, plan));
  arena->guard_secret_ = random.Bits();
  TRY(arena->Allocate());
  TRY(arena->RefillGuards());
  TRY(arena->Renew(random, true));
  return arena;
}

Status Arena::Allocate() {
  for (CheckInput input : kAllCheckInputs) {
    if (Applies(input, problem_)) checks_.push_back({input, {}, {}});
  }
  const auto check_count = static_cast<int64_t>(checks_.size());
  const int64_t elements = problem_.output_elements();
  for (size_t input = 0; input < kInputs; ++input) {
    const int64_t padded = PaddedBytes(problem_.input_bytes.at(input));
    contents_.at(input) = TRY(AllocateBytes(plan_.contents * padded));
    check_contents_.at(input) = TRY(AllocateBytes(check_count * padded));
  }
  references_ = TRY(AllocateBytes(plan_.combinations() * PaddedReferenceBytes(elements)));
  check_references_ = TRY(AllocateBytes(check_count * PaddedReferenceBytes(elements)));
  for (size_t check = 0; check < checks_.size(); ++check) {
    for (size_t input = 0; input < kInputs; ++input) {
      const auto offset = static_cast<int64_t>(check) * PaddedBytes(problem_.input_bytes.at(input));
      checks_[check].contents.at(input) =
          check_contents_.at(input).address() + static_cast<uint64_t>(offset);
    }
    checks_[check].reference =
        ReferenceAt(check_references_.address(), static_cast<int64_t>(check), elements);
  }
  for (size_t role = 0; role <= kOutputRole; ++role) TRY(MapShared(role));
  for (size_t role = 0; role <= kOutputRole; ++role) {
    const int64_t bytes = slots_.at(role).bytes;
    shared_.push_back(TRY(cuda::PhysicalMemory::Create(device_.properties(),
                                                       static_cast<size_t>(PaddedBytes(bytes)))));
    mappings_.push_back(TRY(cuda::Mapping::Map(shared_.back())));
    exact_.at(role) = MakeExactRegion(bytes, static_cast<int64_t>(mappings_.back().bytes()));
    exact_.at(role).base += mappings_.back().address();
  }
  return {};
}

Status Arena::MapShared(size_t role) {
  const bool output = role == kOutputRole;
  slots_.at(role) = output ? MakeRegion(plan_.output_slots, problem_.output_bytes)
                           : MakeRegion(plan_.input_slots, problem_.input_bytes.at(role));
  shared_.push_back(TRY(cuda::PhysicalMemory::Create(device_.properties(),
                                                     static_cast<size_t>(slots_.at(role).end))));
  mappings_.push_back(TRY(cuda::Mapping::Map(shared_.back())));
  slots_.at(role).base = mappings_.back().address();
  return {};
}

std::vector<int64_t> Arena::mapped_bytes() const {
  std::vector<int64_t> bytes;
  for (const cuda::PhysicalMemory& memory : shared_) {
    bytes.push_back(static_cast<int64_t>(memory.bytes()));
  }
  return bytes;
}

Result<std::vector<int>> Arena::Export() const {
  std::vector<int> descriptors;
  for (const cuda::PhysicalMemory& memory : shared_) descriptors.push_back(TRY(memory.Export()));
  return descriptors;
}

Status Arena::Renew(Random& random, bool checks) {
  computed_.assign(static_cast<size_t>(plan_.combinations()), false);
  TRY(FillContents(random));
  if (checks) TRY(FillChecks(random));
  TRY(Reassign(random));
  return device_.Synchronize();
}

Status Arena::FillContents(Random& random) {
  for (size_t input = 0; input < kInputs; ++input) {
    const Fill kind =
        problem_.generators.at(input) == Generator::kUniform ? Fill::kUniform : Fill::kNormal;
    for (int content = 0; content < plan_.contents; ++content) {
      TRY(FillOperand(ContentAddress(input, content), input, kind, random.Bits()));
    }
  }
  return {};
}

Status Arena::FillChecks(Random& random) {
  std::vector<ReferenceEntry> entries;
  for (const CheckContents& check : checks_) {
    const uint64_t seed = random.Bits();
    for (size_t input = 0; input < kInputs; ++input) {
      TRY(FillOperand(check.contents.at(input), input, FillOf(check.input), seed));
    }
    entries.push_back(
        {check.contents[0], check.contents[1], check.reference.product, check.reference.magnitude});
  }
  return ComputeReferences(entries);
}

Status Arena::FillOperand(uint64_t target, size_t input, Fill kind, uint64_t seed) {
  FillParameters parameters;
  parameters.target = target;
  const bool is_a = input == 0;
  const int64_t other = is_a ? problem_.m : problem_.n;
  parameters.k_is_column = is_a || problem_.transposed ? 1 : 0;
  parameters.rows = parameters.k_is_column != 0 ? other : problem_.k;
  parameters.columns = parameters.k_is_column != 0 ? problem_.k : other;
  parameters.seed = seed;
  parameters.density = ZeroOneDensity(problem_.k);
  parameters.reduction = problem_.k;
  parameters.kind = kind;
  parameters.operand = is_a ? 0 : 1;
  return device_.kernels().RunFill(parameters, device_.stream());
}

Status Arena::Reassign(Random& random) {
  for (size_t input = 0; input < kInputs; ++input) {
    assignments_.at(input) = DrawAssignment(plan_, random);
    std::vector<CopyEntry> entries;
    for (size_t slot = 0; slot < assignments_.at(input).size(); ++slot) {
      entries.push_back({slots_.at(input).AddressOf(static_cast<int>(slot)),
                         ContentAddress(input, assignments_.at(input)[slot])});
    }
    const uint64_t table = TRY(device_.Upload(entries));
    TRY(device_.kernels().RunCopy(table, static_cast<int>(entries.size()),
                                  problem_.input_bytes.at(input), device_.stream()));
  }
  return device_.Synchronize();
}

Status Arena::StageCheck(const CheckContents& check) {
  for (size_t input = 0; input < kInputs; ++input) {
    TRY(cuda::CopyOnDeviceAsync(exact_.at(input).AddressOf(0), check.contents.at(input),
                                static_cast<size_t>(problem_.input_bytes.at(input)),
                                device_.stream()));
  }
  return device_.Synchronize();
}

Status Arena::RefillGuards() {
  for (const auto* regions : {&slots_, &exact_}) {
    for (const Region& region : *regions) {
      TRY(device_.kernels().RunFillGuards(region, guard_secret_, device_.stream()));
    }
  }
  return device_.Synchronize();
}

uint64_t Arena::ContentAddress(size_t input, int content) const {
  return contents_.at(input).address() +
         static_cast<uint64_t>(content * PaddedBytes(problem_.input_bytes.at(input)));
}

ReferenceAddress Arena::ReferenceOf(const std::array<int, kInputs>& content) const {
  return ReferenceAt(references_.address(), content[0] * plan_.contents + content[1],
                     problem_.output_elements());
}

Status Arena::EnsureReferences(const BatchPlan& batch) {
  std::vector<ReferenceEntry> missing;
  for (const auto* launches : {&batch.touch, &batch.timed}) {
    for (const PlannedLaunch& launch : *launches) {
      const int combination = launch.content[0] * plan_.contents + launch.content[1];
      const auto index = static_cast<size_t>(combination);
      if (computed_.at(index)) continue;
      computed_.at(index) = true;
      const ReferenceAddress reference = ReferenceOf(launch.content);
      missing.push_back({ContentAddress(0, launch.content[0]), ContentAddress(1, launch.content[1]),
                         reference.product, reference.magnitude});
    }
  }
  return missing.empty() ? Status{} : ComputeReferences(missing);
}

Status Arena::ComputeReferences(const std::vector<ReferenceEntry>& entries) {
  const ReferenceShape shape{problem_.m, problem_.n, problem_.k, problem_.transposed ? 1 : 0};
  const uint64_t table = TRY(device_.Upload(entries));
  TRY(device_.kernels().RunReference(table, static_cast<int>(entries.size()), shape,
                                     device_.stream()));
  return device_.Synchronize();
}

}  // namespace warpsmith::judge
