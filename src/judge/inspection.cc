#include "judge/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

namespace warpsmith::judge {
namespace {

struct ExpectedOutput {
  uint64_t output = 0;
  ReferenceAddress reference;
};

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  double value =
      std::ldexp(exponent == 0 ? mantissa : 1024 + mantissa, (exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31) value = mantissa == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

// Submits the verification of outputs; Read() gives the reports after a synchronisation.
class Verification {
 public:
  Verification(OracleDevice& device, const Arena& arena, std::vector<ExpectedOutput> expected)
      : device_(device), problem_(arena.problem()), expected_(std::move(expected)) {}

  Status Submit(uint16_t poison, bool exact) {
    std::vector<VerifyEntry> entries;
    for (const ExpectedOutput& e : expected_) {
      entries.push_back({e.output, e.reference.product, e.reference.magnitude});
    }
    VerifyParameters parameters;
    parameters.entries = TRY(device_.Upload(entries));
    results_ = TRY(device_.ReserveResults(entries.size() * sizeof(VerifyResult)));
    parameters.results = results_;
    parameters.elements = problem_.output_elements();
    parameters.bound = problem_.bound;
    parameters.poison = poison;
    parameters.exact = exact ? 1 : 0;
    exact_ = exact;
    return device_.kernels().RunVerify(parameters, static_cast<int>(entries.size()),
                                       device_.stream());
  }

  Result<std::vector<OutputReport>> Read(Detail detail) const {
    std::vector<OutputReport> reports;
    const auto* results = device_.Results<VerifyResult>(results_);
    for (size_t i = 0; i < expected_.size(); ++i) {
      reports.push_back(TRY(ReportOf(results[i], expected_[i], detail)));
    }
    return reports;
  }

 private:
  Result<OutputReport> ReportOf(const VerifyResult& result, const ExpectedOutput& expected,
                                Detail detail) const {
    OutputReport report;
    report.poison = static_cast<int64_t>(result.poison);
    report.nan = static_cast<int64_t>(result.nan);
    report.wrong = static_cast<int64_t>(result.wrong);
    report.worst_fraction = std::bit_cast<float>(static_cast<uint32_t>(result.worst >> 32));
    report.max_deviation = std::bit_cast<float>(result.deviation_bits);
    report.content_hash = result.content_hash;
    if (report.wrong > 0) {
      report.worst_element =
          static_cast<int64_t>(0xffffffffU - static_cast<uint32_t>(result.worst));
      if (detail == Detail::kWorstElement) TRY(LookAtWorst(expected, report));
    }
    return report;
  }

  Status LookAtWorst(const ExpectedOutput& expected, OutputReport& report) const {
    const auto element = static_cast<uint64_t>(report.worst_element);
    uint16_t output = 0;
    double product = 0;
    float magnitude = 0;
    TRY(cuda::CopyToHost(&output, expected.output + 2 * element, sizeof(output)));
    TRY(cuda::CopyToHost(&product, expected.reference.product + 8 * element, sizeof(product)));
    TRY(cuda::CopyToHost(&magnitude, expected.reference.magnitude + 4 * element,
                         sizeof(magnitude)));
    report.worst_error = std::fabs(HalfToDouble(output) - product);
    const BoundCoefficients& c = problem_.bound;
    const double bound =
        c.relative * std::fabs(product) + c.absolute + c.magnitude * double{magnitude};
    report.worst_bound = exact_ && std::fabs(product) <= 2048 ? 0 : bound;
    return {};
  }

  OracleDevice& device_;
  const GemmProblem& problem_;
  std::vector<ExpectedOutput> expected_;
  uint64_t results_ = 0;
  bool exact_ = false;
};

// Counts damage in regions and differences in tables; says afterwards what rule was broken.
class Integrity {
 public:
  Integrity(OracleDevice& device, const Arena& arena) : device_(device), arena_(arena) {}

  Status SubmitGuards(const std::array<const Region*, kInputs + 1>& regions) {
    guards_ = TRY(device_.ReserveResults(regions.size() * sizeof(uint32_t)));
    for (size_t role = 0; role < regions.size(); ++role) {
      TRY(device_.kernels().RunCheckGuards(*regions[role], arena_.guard_secret(),
                                           guards_ + role * sizeof(uint32_t), device_.stream()));
    }
    return {};
  }

  Status SubmitInput(size_t input, const std::vector<CompareEntry>& entries) {
    inputs_.at(input) = TRY(Submit(entries, arena_.problem().input_bytes.at(input), 0));
    input_counts_.at(input) = entries.size();
    return {};
  }

  Status SubmitUnused(const std::vector<CompareEntry>& entries, uint16_t poison) {
    unused_count_ = entries.size();
    if (entries.empty()) return {};
    unused_ = TRY(Submit(entries, arena_.problem().output_bytes, poison));
    return {};
  }

  std::optional<Rejected> Read() const {
    const GemmProblem& problem = arena_.problem();
    for (size_t input = 0; input < kInputs; ++input) {
      const uint32_t words = Sum(inputs_.at(input), input_counts_.at(input));
      if (words > 0) {
        return Rejected{"inputs-modified", fmt::format("input {} was written to ({} words)",
                                                       problem.inputs.at(input), words)};
      }
    }
    for (size_t role = 0; role <= kInputs; ++role) {
      const uint32_t words = device_.Results<uint32_t>(guards_)[role];
      if (words > 0) {
        const std::string& name = role == kInputs ? problem.output : problem.inputs.at(role);
        return Rejected{"out-of-bounds-write",
                        fmt::format("{} half-words beside {} were overwritten", words, name)};
      }
    }
    const uint32_t unused = unused_count_ == 0 ? 0 : Sum(unused_, unused_count_);
    if (unused == 0) return std::nullopt;
    return Rejected{
        "out-of-bounds-write",
        fmt::format("{} words of outputs that no launch was given were overwritten", unused)};
  }

 private:
  Result<uint64_t> Submit(const std::vector<CompareEntry>& entries, int64_t bytes,
                          uint16_t pattern) {
    const uint64_t table = TRY(device_.Upload(entries));
    const uint64_t counts = TRY(device_.ReserveResults(entries.size() * sizeof(uint32_t)));
    TRY(device_.kernels().RunCompare(table, static_cast<int>(entries.size()), bytes, pattern,
                                     counts, device_.stream()));
    return counts;
  }

  uint32_t Sum(uint64_t counts, size_t entries) const {
    uint32_t sum = 0;
    for (size_t i = 0; i < entries; ++i) {
      sum |= device_.Results<uint32_t>(counts)[i];  // any difference counts; no overflow
    }
    return sum;
  }

  OracleDevice& device_;
  const Arena& arena_;
  uint64_t guards_ = 0, unused_ = 0;
  size_t unused_count_ = 0;
  std::array<uint64_t, kInputs> inputs_{};
  std::array<size_t, kInputs> input_counts_{};
};

std::vector<CompareEntry> InputEntries(const Arena& arena, size_t input) {
  std::vector<CompareEntry> entries;
  const Assignment& assignment = arena.assignments().at(input);
  for (size_t slot = 0; slot < assignment.size(); ++slot) {
    entries.push_back({arena.slots(input).AddressOf(static_cast<int>(slot)),
                       arena.ContentAddress(input, assignment[slot])});
  }
  return entries;
}

std::vector<CompareEntry> UnusedOutputs(const Arena& arena, const BatchPlan& batch) {
  std::vector<bool> used(static_cast<size_t>(arena.plan().output_slots), false);
  for (const PlannedLaunch& launch : batch.touch)
    used[static_cast<size_t>(launch.output_slot)] = true;
  for (const PlannedLaunch& launch : batch.timed)
    used[static_cast<size_t>(launch.output_slot)] = true;
  std::vector<CompareEntry> entries;
  for (size_t slot = 0; slot < used.size(); ++slot) {
    if (!used[slot]) entries.push_back({arena.slots(kInputs).AddressOf(static_cast<int>(slot)), 0});
  }
  return entries;
}

}  // namespace

Result<Inspection> InspectBatch(OracleDevice& device, Arena& arena, const BatchPlan& batch,
                                uint16_t poison, Detail detail) {
  std::vector<ExpectedOutput> expected;
  for (const auto* launches : {&batch.touch, &batch.timed}) {
    for (const PlannedLaunch& launch : *launches) {
      expected.push_back(
          {arena.slots(kInputs).AddressOf(launch.output_slot), arena.ReferenceOf(launch.content)});
    }
  }
  Verification outputs(device, arena, std::move(expected));
  Integrity integrity(device, arena);
  TRY(outputs.Submit(poison, false));
  TRY(integrity.SubmitGuards({&arena.slots(0), &arena.slots(1), &arena.slots(2)}));
  for (size_t input = 0; input < kInputs; ++input) {
    TRY(integrity.SubmitInput(input, InputEntries(arena, input)));
  }
  TRY(integrity.SubmitUnused(UnusedOutputs(arena, batch), poison));
  TRY(device.Synchronize());
  return Inspection{TRY(outputs.Read(detail)), integrity.Read()};
}

Result<Inspection> InspectCheck(OracleDevice& device, Arena& arena, const CheckContents& check,
                                uint16_t poison) {
  Verification output(device, arena, {{arena.exact(kInputs).AddressOf(0), check.reference}});
  Integrity integrity(device, arena);
  TRY(output.Submit(poison, check.input == CheckInput::kZeroOne));
  TRY(integrity.SubmitGuards({&arena.exact(0), &arena.exact(1), &arena.exact(2)}));
  for (size_t input = 0; input < kInputs; ++input) {
    TRY(integrity.SubmitInput(input,
                              {{arena.exact(input).AddressOf(0), check.contents.at(input)}}));
  }
  TRY(device.Synchronize());
  return Inspection{TRY(output.Read(Detail::kWorstElement)), integrity.Read()};
}

Result<std::optional<std::string_view>> TrivialAnswerThatPasses(OracleDevice& device,
                                                                Arena& arena) {
  constexpr uint16_t kOne = 0x3c00, kPoison = 0x7e01;
  const CheckContents& check = arena.checks().front();
  const Region& output = arena.exact(kInputs);
  const auto passes = [&]() -> Result<bool> {
    Verification verification(device, arena, {{output.AddressOf(0), check.reference}});
    TRY(verification.Submit(kPoison, false));
    TRY(device.Synchronize());
    return TRY(verification.Read(Detail::kCountsOnly)).front().wrong == 0;
  };
  TRY(device.kernels().RunPoison(output, 0, device.stream()));
  if (TRY(passes())) return std::optional<std::string_view>("zeros");
  TRY(device.kernels().RunPoison(output, kOne, device.stream()));
  if (TRY(passes())) return std::optional<std::string_view>("a constant");
  const int64_t bytes = std::min(output.bytes, arena.problem().input_bytes[0]);
  TRY(device.kernels().RunPoison(output, 0, device.stream()));
  TRY(cuda::CopyOnDeviceAsync(output.AddressOf(0), check.contents[0], static_cast<size_t>(bytes),
                              device.stream()));
  if (TRY(passes())) return std::optional<std::string_view>("a copy of the first input");
  return std::optional<std::string_view>();
}

}  // namespace warpsmith::judge
