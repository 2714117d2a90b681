#include "judge/arena.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace warpsmith::judge {
namespace {

constexpr int kNoSet = -1;

// So many products are 1 whatever K is, give or take: exact in the type, yet not a handful of
// values.
double ZeroOneDensity(const GemmShape& shape) {
  const double ones = shape.dtype == DType::kBF16 ? 100 : 1000;
  return std::min(0.5, std::sqrt(ones / static_cast<double>(shape.k)));
}

Fill FillOf(CheckInput input) {
  switch (input) {
    case CheckInput::kNormal:
      return Fill::kNormal;
    case CheckInput::kZeroOne:
      return Fill::kZeroOne;
    case CheckInput::kBf16Accumulate:
      return Fill::kBf16Accumulate;
    case CheckInput::kFp16Accumulate:
      return Fill::kFp16Accumulate;
    case CheckInput::kAdversarial:
      return Fill::kAdversarial;
  }
  return Fill::kNormal;
}

bool IsFor(CheckInput input, const ResolvedTask& problem) {
  switch (input) {
    case CheckInput::kNormal:
      return true;
    case CheckInput::kZeroOne:
      return problem.gemm.has_value();
    case CheckInput::kBf16Accumulate:
    case CheckInput::kFp16Accumulate:
      return problem.gemm && ExposesNarrowSums(input, problem.gemm->dtype, problem.gemm->k);
    case CheckInput::kAdversarial:
      return !problem.reference_draws;
  }
  return false;
}

Result<cuda::DeviceBuffer> AllocateBytes(int64_t bytes) {
  return cuda::DeviceBuffer::Allocate(static_cast<size_t>(std::max<int64_t>(bytes, 256)));
}

// The same error, told for a person who wrote the task.
Error OfTheReference(const Error& error) {
  return {error.code, "the reference: " + error.message, error.fix};
}

}  // namespace

float RedrawnShare(int64_t elements, uint64_t seed) {
  constexpr double kMost = 1e-3;
  const double least = 2 / static_cast<double>(elements);
  if (least >= kMost) return static_cast<float>(least);
  Random random(seed, "redrawn share");
  return static_cast<float>(least * std::pow(kMost / least, random.Uniform()));
}

Result<std::unique_ptr<Arena>> Arena::Create(OracleDevice& device, std::string id,
                                             const ResolvedTask& problem, const ArenaPlan& plan,
                                             std::unique_ptr<ReferenceProcess> process,
                                             Random& random) {
  std::unique_ptr<Arena> arena(new Arena(device, std::move(id), problem, plan, std::move(process)));
  // The pattern between the slots is secret: a candidate that wrote there cannot put it back.
  arena->guard_secret_ = random.Bits();
  arena->ChooseChecks();
  TRY(arena->Allocate());
  TRY(arena->RefillGuards());
  TRY(arena->Renew(random, true));
  return arena;
}

// The check inputs lie behind the contents of the launches, and their expected outputs behind those
// of all combinations, so that one index names any of them (ContentAddress, ReferenceAt).
void Arena::ChooseChecks() {
  for (CheckInput input : kAllCheckInputs) {
    if (!IsFor(input, problem_)) continue;
    const auto index = static_cast<int>(checks_.size());
    checks_.push_back({input, plan_.contents + index, plan_.combinations() + index});
  }
}

int64_t Arena::ReferenceBytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < problem_.outputs.size(); ++i) {
    const int64_t elements = problem_.outputs[i].elements;
    bytes += PaddedBytes(elements * ElementBytes(problem_.expected[i]));
    if (problem_.gemm) bytes += PaddedBytes(elements * kMagnitudeBytes);
  }
  return bytes;
}

Status Arena::Allocate() {
  const auto check_count = static_cast<int64_t>(checks_.size());
  for (const TensorInfo& input : problem_.inputs) {
    contents_.push_back(
        TRY(AllocateBytes((plan_.contents + check_count) * PaddedBytes(input.bytes))));
  }
  const int64_t references = plan_.combinations() + check_count;
  references_ = TRY(AllocateBytes(references * ReferenceBytes()));
  computed_.assign(static_cast<size_t>(references), false);
  // One index for all expected outputs: the combinations of contents first, then the checks.
  largest_.assign(static_cast<size_t>(references), std::vector<double>(problem_.outputs.size(), 0));
  seeds_.assign(static_cast<size_t>(plan_.contents), 0);
  assignments_.resize(problem_.inputs.size());
  for (size_t role = 0; role < problem_.Roles(); ++role) TRY(MapSlots(role));
  for (size_t role = 0; role < problem_.Roles(); ++role) TRY(MapExact(role));
  return {};
}

// The process that is judged maps this memory too, and can write to all of it. So nothing that is
// read from here is taken for true: inputs are compared with the contents that they were copied
// from, and the guards with a pattern that only the oracle knows (inspection.cc).
Status Arena::MapSlots(size_t role) {
  const int slots = problem_.IsOutput(role) ? plan_.output_slots : plan_.input_slots;
  Region region = MakeRegion(slots, problem_.Tensor(role).bytes);
  shared_.push_back(
      TRY(cuda::PhysicalMemory::Create(device_.properties(), static_cast<size_t>(region.end))));
  mappings_.push_back(TRY(cuda::Mapping::Map(shared_.back())));
  region.base = mappings_.back().address();
  slots_.push_back(region);
  return {};
}

// A tensor alone, whose padded end is the mapping's end. A slot's neighbour would take an access
// beyond it without a fault; here such an access meets an unmapped page.
Status Arena::MapExact(size_t role) {
  const int64_t bytes = problem_.Tensor(role).bytes;
  shared_.push_back(TRY(
      cuda::PhysicalMemory::Create(device_.properties(), static_cast<size_t>(PaddedBytes(bytes)))));
  mappings_.push_back(TRY(cuda::Mapping::Map(shared_.back())));
  Region region = MakeExactRegion(bytes, static_cast<int64_t>(mappings_.back().bytes()));
  region.base += mappings_.back().address();
  exact_.push_back(region);
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
  // The expected outputs of the old contents are void; those of the checks follow the combinations
  // and are replaced by FillChecks.
  std::fill(computed_.begin(), computed_.begin() + plan_.combinations(), false);
  TRY(FillContents(random));
  if (checks) TRY(FillChecks(random));
  TRY(Reassign(random));
  return device_.Synchronize();
}

// The contents of a product are drawn for each operand alone, since a launch reads any of A with
// any of B. In every other task the inputs of one set belong together.
Status Arena::FillContents(Random& random) {
  for (int content = 0; content < plan_.contents; ++content) {
    if (problem_.reference_draws) {
      TRY(DrawSet(content, content, random.Bits()));
    } else if (!problem_.gemm) {
      // Every second set is almost like the one before it. A candidate that recognises inputs by a
      // sample of their elements takes one for the other and gives a wrong answer.
      TRY(FillSet(content, random.Bits(), content % 2 == 1 ? content - 1 : kNoSet, false));
    } else {
      for (size_t input = 0; input < problem_.inputs.size(); ++input) {
        const bool uniform = problem_.inputs[input].generator == Generator::kUniform;
        TRY(FillOperand(ContentAddress(input, content), input,
                        uniform ? Fill::kUniform : Fill::kNormal, random.Bits()));
      }
    }
  }
  return {};
}

Status Arena::RenewNearDuplicates(Random& random) {
  if (problem_.gemm || problem_.reference_draws) return {};
  for (int content = 1; content < plan_.contents; content += 2) {
    TRY(FillSet(content, random.Bits(), content - 1, false));
    computed_.at(static_cast<size_t>(content)) = false;
  }
  return Reassign(random);
}

Status Arena::FillChecks(Random& random) {
  std::vector<std::pair<int, std::vector<int>>> products;
  for (const CheckContents& check : checks_) {
    const uint64_t seed = random.Bits();
    if (&check == &checks_.front()) first_check_seed_ = seed;
    if (problem_.reference_draws) {
      TRY(DrawSet(check.content, check.reference, seed));
    } else if (!problem_.gemm) {
      TRY(FillSet(check.content, seed, kNoSet, check.input == CheckInput::kAdversarial));
      TRY(AskProcess(check.reference, check.content));
    } else {
      for (size_t input = 0; input < problem_.inputs.size(); ++input) {
        TRY(FillOperand(ContentAddress(input, check.content), input, FillOf(check.input), seed));
      }
      products.push_back({check.reference, {check.content, check.content}});
    }
  }
  return ComputeProducts(products);
}

Status Arena::FillOperand(uint64_t target, size_t input, Fill kind, uint64_t seed) {
  const GemmShape& shape = *problem_.gemm;
  FillParameters parameters;
  parameters.target = target;
  const bool is_a = input == 0;
  const int64_t other = is_a ? shape.m : shape.n;
  parameters.k_is_column = is_a || shape.transposed ? 1 : 0;
  parameters.rows = parameters.k_is_column != 0 ? other : shape.k;
  parameters.columns = parameters.k_is_column != 0 ? shape.k : other;
  parameters.seed = seed;
  parameters.density = ZeroOneDensity(shape);
  parameters.reduction = shape.k;
  parameters.kind = kind;
  parameters.operand = is_a ? 0 : 1;
  parameters.dtype = static_cast<int32_t>(shape.dtype);
  return device_.kernels().RunFill(parameters, device_.stream());
}

Status Arena::FillSet(int content, uint64_t seed, int near, bool mixed_scale) {
  if (content < plan_.contents) {
    seeds_.at(static_cast<size_t>(content)) =
        near == kNoSet ? seed : seeds_.at(static_cast<size_t>(near));
  }
  for (size_t input = 0; input < problem_.inputs.size(); ++input) {
    const TensorInfo& tensor = problem_.inputs[input];
    TensorFill fill;
    fill.target = ContentAddress(input, content);
    fill.elements = tensor.elements;
    fill.seed = near == kNoSet ? seed : seeds_.at(static_cast<size_t>(near));
    fill.stream = input;
    fill.redraw_seed = seed;
    // Offsets must stay ascending; of few elements one must change.
    const bool can_redraw = tensor.generator != Generator::kOffsets;
    if (near != kNoSet && can_redraw) fill.redraw = RedrawnShare(tensor.elements, seed);
    fill.low = tensor.low;
    fill.high = tensor.high;
    fill.generator = static_cast<int32_t>(tensor.generator);
    fill.dtype = static_cast<int32_t>(tensor.dtype);
    fill.mixed_scale = mixed_scale ? 1 : 0;
    TRY(device_.kernels().RunFillTensor(fill, device_.stream()));
  }
  return {};
}

// A reference that draws its inputs answers in the same step. Both are taken from the stage before
// it is asked again, which would overwrite them.
Status Arena::DrawSet(int content, int reference, uint64_t seed) {
  const Status drawn = process_->provider->Draw(seed);
  if (!drawn.ok()) return OfTheReference(drawn.error());
  for (size_t input = 0; input < problem_.inputs.size(); ++input) {
    TRY(cuda::CopyOnDeviceAsync(ContentAddress(input, content), process_->stage.AddressOf(input),
                                static_cast<size_t>(problem_.inputs[input].bytes),
                                device_.stream()));
  }
  return TakeExpected(reference);
}

Status Arena::ComputeSecondAnswer() {
  const CheckContents& check = checks_.front();
  return problem_.reference_draws ? DrawSet(check.content, 0, first_check_seed_)
                                  : AskProcess(0, check.content);
}

Status Arena::ForgetSecondAnswer(Random& random) {
  computed_.at(0) = false;
  return problem_.reference_draws ? DrawSet(0, 0, random.Bits()) : Status{};
}

// The reference runs in a process of its own, which does not see the oracle's stream. So the inputs
// must have arrived before it is asked.
Status Arena::AskProcess(int reference, int content) {
  for (size_t input = 0; input < problem_.inputs.size(); ++input) {
    TRY(cuda::CopyOnDeviceAsync(process_->stage.AddressOf(input), ContentAddress(input, content),
                                static_cast<size_t>(problem_.inputs[input].bytes),
                                device_.stream()));
  }
  TRY(device_.Synchronize());
  const Status expected = process_->provider->Expect();
  if (!expected.ok()) return OfTheReference(expected.error());
  return TakeExpected(reference);
}

// Takes the answer from the stage, which the reference's process can write, into the oracle's own
// memory, and measures how large the values are: bounds depend on it.
Status Arena::TakeExpected(int reference) {
  const ExpectedOutputs targets = ReferenceAt(reference);
  std::vector<uint64_t> spreads;
  for (size_t i = 0; i < problem_.outputs.size(); ++i) {
    const size_t role = problem_.inputs.size() + i;
    TRY(cuda::CopyOnDeviceAsync(targets[i].values, process_->stage.AddressOf(role),
                                static_cast<size_t>(process_->stage.BytesOf(role)),
                                device_.stream()));
    spreads.push_back(TRY(device_.ReserveResults(sizeof(SpreadResult))));
    TRY(device_.kernels().RunSpread(targets[i].values, problem_.expected[i],
                                    problem_.outputs[i].elements, spreads.back(),
                                    device_.stream()));
  }
  TRY(device_.Synchronize());
  for (size_t i = 0; i < problem_.outputs.size(); ++i) {
    const auto& spread = *device_.Results<SpreadResult>(spreads[i]);
    if (spread.nan > 0) {
      return Error{ErrorCode::kBadInput,
                   fmt::format("the reference gives NaN in {} of {} elements of {}", spread.nan,
                               problem_.outputs[i].elements, problem_.outputs[i].name),
                   "no answer could pass: change the generators or the reference"};
    }
    largest_.at(static_cast<size_t>(reference)).at(i) = std::bit_cast<double>(spread.largest_bits);
  }
  computed_.at(static_cast<size_t>(reference)) = true;
  return {};
}

Status Arena::Reassign(Random& random) {
  DrawAssignments(random);
  return FillSlots();
}

void Arena::DrawAssignments(Random& random) {
  for (Assignment& assignment : assignments_) assignment = DrawAssignment(plan_, random);
}

// Every slot is written from the oracle's own contents, also one that should hold the right content
// already: what a process did to a slot does not live longer than until here.
Status Arena::FillSlots() {
  for (size_t input = 0; input < problem_.inputs.size(); ++input) {
    std::vector<CopyEntry> entries;
    for (size_t slot = 0; slot < assignments_.at(input).size(); ++slot) {
      entries.push_back({slots_.at(input).AddressOf(static_cast<int>(slot)),
                         ContentAddress(input, assignments_.at(input)[slot])});
    }
    const uint64_t table = TRY(device_.Upload(entries));
    TRY(device_.kernels().RunCopy(table, static_cast<int>(entries.size()),
                                  problem_.inputs[input].bytes, device_.stream()));
  }
  return device_.Synchronize();
}

Status Arena::Swap(size_t input, int first_slot, int second_slot) {
  // The book-keeping changes at once, the memory when the stream gets there: the caller must not
  // release a call that reads one of the slots before (burst_plan.h, Move::needed).
  Assignment& assignment = assignments_.at(input);
  std::swap(assignment.at(static_cast<size_t>(first_slot)),
            assignment.at(static_cast<size_t>(second_slot)));
  for (const int slot : {first_slot, second_slot}) {
    TRY(cuda::CopyOnDeviceAsync(slots_.at(input).AddressOf(slot),
                                ContentAddress(input, assignment[static_cast<size_t>(slot)]),
                                static_cast<size_t>(problem_.inputs.at(input).bytes),
                                device_.stream()));
  }
  return {};
}

Status Arena::StageCheck(const CheckContents& check) {
  for (size_t input = 0; input < problem_.inputs.size(); ++input) {
    TRY(cuda::CopyOnDeviceAsync(exact_.at(input).AddressOf(0), ContentAddress(input, check.content),
                                static_cast<size_t>(problem_.inputs[input].bytes),
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
         static_cast<uint64_t>(content * PaddedBytes(problem_.inputs.at(input).bytes));
}

ExpectedOutputs Arena::ReferenceOf(const std::vector<int>& content) const {
  return ReferenceAt(plan_.CombinationOf(content));
}

ExpectedOutputs Arena::ReferenceAt(int index) const {
  uint64_t at = references_.address() + static_cast<uint64_t>(index * ReferenceBytes());
  ExpectedOutputs expected;
  for (size_t i = 0; i < problem_.outputs.size(); ++i) {
    const int64_t elements = problem_.outputs[i].elements;
    ExpectedTensor tensor{at, 0, largest_.at(static_cast<size_t>(index)).at(i)};
    at += static_cast<uint64_t>(PaddedBytes(elements * ElementBytes(problem_.expected[i])));
    if (problem_.gemm) {
      tensor.magnitude = at;
      at += static_cast<uint64_t>(PaddedBytes(elements * kMagnitudeBytes));
    }
    expected.push_back(tensor);
  }
  return expected;
}

Status Arena::EnsureReferences(const BatchPlan& batch) {
  std::vector<std::pair<int, std::vector<int>>> products;
  for (const auto* launches : {&batch.touch, &batch.timed}) {
    for (const PlannedLaunch& launch : *launches) {
      const int combination = plan_.CombinationOf(launch.content);
      if (computed_.at(static_cast<size_t>(combination))) continue;
      // Products are computed together, below. Marked at once: a combination may come twice.
      if (problem_.gemm) {
        computed_.at(static_cast<size_t>(combination)) = true;
        products.emplace_back(combination, launch.content);
      } else {
        TRY(AskProcess(combination, launch.content.empty() ? 0 : launch.content[0]));
      }
    }
  }
  return ComputeProducts(products);
}

Status Arena::ComputeProducts(const std::vector<std::pair<int, std::vector<int>>>& missing) {
  if (missing.empty()) return {};
  std::vector<ReferenceEntry> entries;
  for (const auto& [reference, content] : missing) {
    const ExpectedTensor target = ReferenceAt(reference).front();
    entries.push_back({ContentAddress(0, content[0]), ContentAddress(1, content[1]), target.values,
                       target.magnitude});
  }
  const GemmShape& g = *problem_.gemm;
  const ReferenceShape shape{g.m, g.n, g.k, g.transposed ? 1 : 0, static_cast<int32_t>(g.dtype)};
  const uint64_t table = TRY(device_.Upload(entries));
  TRY(device_.kernels().RunReference(table, static_cast<int>(entries.size()), shape,
                                     device_.stream()));
  return device_.Synchronize();
}

}  // namespace warpsmith::judge
