#include "judge/inspection.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace warpsmith::judge {
namespace {

// Where one launch wrote its outputs, and what they should hold.
struct WrittenOutputs {
  std::vector<uint64_t> addresses;
  ExpectedOutputs expected;
};

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  double value =
      std::ldexp(exponent == 0 ? mantissa : 1024 + mantissa, (exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31) value = mantissa == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

double ValueFromBits(const unsigned char* bytes, DType dtype) {
  const auto as = [bytes]<typename T>(T value) {
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::kF16:
      return HalfToDouble(as(uint16_t{}));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(as(uint16_t{})) << 16);
    case DType::kF32:
      return as(float{});
    case DType::kF64:
      return as(double{});
    case DType::kI8:
      return as(int8_t{});
    case DType::kI32:
      return as(int32_t{});
    case DType::kI64:
      return static_cast<double>(as(int64_t{}));
    case DType::kBool:
      return as(uint8_t{}) != 0 ? 1 : 0;
  }
  return 0;
}

Result<double> FetchElement(uint64_t base, DType dtype, int64_t element) {
  std::array<unsigned char, 8> bytes{};
  const int64_t width = ElementBytes(dtype);
  TRY(cuda::CopyToHost(bytes.data(), base + static_cast<uint64_t>(width * element),
                       static_cast<size_t>(width)));
  return ValueFromBits(bytes.data(), dtype);
}

// Submits the verification of launches' outputs; Read() gives one report a launch after a
// synchronisation.
class Verification {
 public:
  Verification(OracleDevice& device, const Arena& arena, std::vector<WrittenOutputs> written)
      : device_(device), problem_(arena.problem()), written_(std::move(written)) {}

  // Without references: each value is compared with itself, and only hash and poison mean
  // something.
  Status SubmitAlone(uint16_t poison) {
    for (size_t output = 0; output < problem_.outputs.size(); ++output) {
      for (WrittenOutputs& w : written_) w.expected[output] = {w.addresses[output], 0, 0};
      TRY(SubmitOutput(output, poison, problem_.outputs[output].dtype,
                       problem_.outputs[output].dtype));
    }
    return {};
  }

  Status Submit(uint16_t poison, bool exact) {
    TRY(Prepare(poison, exact));
    return SubmitPrepared();
  }

  // Submit in two steps.
  Status Prepare(uint16_t poison, bool exact) {
    exact_ = exact;
    for (size_t output = 0; output < problem_.outputs.size(); ++output) {
      prepared_.push_back(TRY(
          ParametersOf(output, poison, problem_.outputs[output].dtype, problem_.expected[output])));
    }
    return {};
  }
  Status SubmitPrepared() const {
    for (const VerifyParameters& parameters : prepared_) {
      TRY(device_.kernels().RunVerify(parameters, static_cast<int>(written_.size()),
                                      device_.stream()));
    }
    return {};
  }

  // What was "written" are outputs of the reference.
  Status SubmitReferences() {
    for (size_t output = 0; output < problem_.outputs.size(); ++output) {
      TRY(SubmitOutput(output, kNoPoison, problem_.expected[output], problem_.expected[output]));
    }
    return {};
  }

  Result<std::vector<OutputReport>> Read(Detail detail) const {
    std::vector<OutputReport> reports(written_.size());
    for (size_t output = 0; output < results_.size(); ++output) {
      const auto* results = device_.Results<VerifyResult>(results_[output]);
      for (size_t launch = 0; launch < written_.size(); ++launch) {
        Merge(TRY(ReportOf(results[launch], launch, output, detail)), reports[launch]);
      }
    }
    return reports;
  }

 private:
  static constexpr uint16_t kNoPoison = 0x7e01;

  Status SubmitOutput(size_t output, uint16_t poison, DType written_type, DType expected_type) {
    const VerifyParameters parameters =
        TRY(ParametersOf(output, poison, written_type, expected_type));
    return device_.kernels().RunVerify(parameters, static_cast<int>(written_.size()),
                                       device_.stream());
  }

  Result<VerifyParameters> ParametersOf(size_t output, uint16_t poison, DType written_type,
                                        DType expected_type) {
    std::vector<VerifyEntry> entries;
    for (const WrittenOutputs& w : written_) {
      const ExpectedTensor& expected = w.expected[output];
      entries.push_back(
          {w.addresses[output], expected.values, expected.magnitude, expected.largest});
    }
    VerifyParameters parameters;
    parameters.entries = TRY(device_.Upload(entries));
    results_.push_back(TRY(device_.ReserveResults(entries.size() * sizeof(VerifyResult))));
    parameters.results = results_.back();
    parameters.elements = problem_.outputs[output].elements;
    parameters.bound = problem_.bounds[output];
    parameters.poison = poison;
    if (exact_) {
      parameters.exact_up_to =
          static_cast<uint32_t>(LargestExactInteger(problem_.outputs[output].dtype));
    }
    parameters.dtype = static_cast<int32_t>(written_type);
    parameters.expected_dtype = static_cast<int32_t>(expected_type);
    parameters.rounding = LastPlaceOf(written_type, expected_type);
    return parameters;
  }

  // The kernel (device/verify.cuh) has counted. VerifyResult::worst is a maximum over elements: the
  // bits of error / bound above, the complement of the element's number below, so that of equal
  // errors the first element is named.
  Result<OutputReport> ReportOf(const VerifyResult& result, size_t launch, size_t output,
                                Detail detail) const {
    OutputReport report;
    report.output = problem_.outputs[output].name;
    report.poison = static_cast<int64_t>(result.poison);
    report.nan = static_cast<int64_t>(result.nan);
    report.wrong = static_cast<int64_t>(result.wrong);
    report.worst_fraction = std::bit_cast<float>(static_cast<uint32_t>(result.worst >> 32));
    report.max_deviation = std::bit_cast<float>(result.deviation_bits);
    report.content_hash = result.content_hash;
    report.bias = {static_cast<int64_t>(result.bias_elements),
                   static_cast<double>(result.bias_magnitude) / kBiasUnit,
                   static_cast<double>(result.bias_value) / kBiasUnit,
                   static_cast<double>(result.bias_square) / kBiasUnit};
    if (report.wrong > 0) {
      report.worst_element =
          static_cast<int64_t>(0xffffffffU - static_cast<uint32_t>(result.worst));
      if (detail == Detail::kWorstElement) TRY(LookAtWorst(launch, output, report));
    }
    return report;
  }

  // Error and bound of the worst element once more, for the words of the verdict. They decide
  // nothing: the element was counted as wrong on the device.
  Status LookAtWorst(size_t launch, size_t output, OutputReport& report) const {
    const ExpectedTensor& expected = written_[launch].expected[output];
    const int64_t element = report.worst_element;
    const double value = TRY(
        FetchElement(written_[launch].addresses[output], problem_.outputs[output].dtype, element));
    const double reference = TRY(FetchElement(expected.values, problem_.expected[output], element));
    const double magnitude = expected.magnitude == 0
                                 ? expected.largest
                                 : TRY(FetchElement(expected.magnitude, DType::kF32, element));
    report.worst_error = std::fabs(value - reference);
    const BoundCoefficients& c = problem_.bounds[output];
    const double bound = c.relative * std::fabs(reference) + c.absolute + c.magnitude * magnitude;
    const bool is_exact =
        exact_ && std::fabs(reference) <=
                      static_cast<double>(LargestExactInteger(problem_.outputs[output].dtype));
    report.worst_bound = is_exact ? 0 : bound;
    return {};
  }

  // Several outputs of one launch: counts add up, the worst element is the worst of all.
  static void Merge(const OutputReport& one, OutputReport& all) {
    const bool worse = all.output.empty() || one.worst_fraction > all.worst_fraction;
    OutputReport merged = worse ? one : all;
    merged.poison = all.poison + one.poison;
    merged.nan = all.nan + one.nan;
    merged.wrong = all.wrong + one.wrong;
    merged.max_deviation = std::max(all.max_deviation, one.max_deviation);
    merged.bias = all.bias;
    merged.bias.Add(one.bias);
    merged.content_hash = all.content_hash * 0x9e3779b97f4a7c15 + one.content_hash;
    all = merged;
  }

  OracleDevice& device_;
  const ResolvedTask& problem_;
  std::vector<WrittenOutputs> written_;
  std::vector<uint64_t> results_;           // of each output
  std::vector<VerifyParameters> prepared_;  // likewise
  bool exact_ = false;
};

// Counts damage in regions and differences in tables; says afterwards what rule was broken.
class Integrity {
 public:
  Integrity(OracleDevice& device, const Arena& arena) : device_(device), arena_(arena) {}

  enum class Where : uint8_t { kSlots, kExact };

  Status SubmitGuards(Where where) {
    const size_t roles = arena_.problem().Roles();
    guards_ = TRY(device_.ReserveResults(roles * sizeof(uint32_t)));
    for (size_t role = 0; role < roles; ++role) {
      const Region& region = where == Where::kSlots ? arena_.slots(role) : arena_.exact(role);
      TRY(device_.kernels().RunCheckGuards(region, arena_.guard_secret(),
                                           guards_ + role * sizeof(uint32_t), device_.stream()));
    }
    return {};
  }

  Status SubmitInput(size_t input, const std::vector<CompareEntry>& entries) {
    inputs_.push_back(
        {TRY(Submit(entries, arena_.problem().inputs.at(input).bytes, 0)), entries.size()});
    return {};
  }

  // Of output `output`, the slots that no launch was given.
  Status SubmitUnused(size_t output, const std::vector<CompareEntry>& entries, uint16_t poison) {
    if (entries.empty()) return {};
    unused_.push_back(
        {TRY(Submit(entries, arena_.problem().outputs.at(output).bytes, poison)), entries.size()});
    return {};
  }

  std::optional<Rejected> Read() const {
    const ResolvedTask& problem = arena_.problem();
    for (size_t input = 0; input < inputs_.size(); ++input) {
      const uint32_t words = Sum(inputs_[input]);
      if (words > 0) {
        return Rejected{"inputs-modified", fmt::format("input {} was written to ({} words)",
                                                       problem.inputs[input].name, words)};
      }
    }
    for (size_t role = 0; role < problem.Roles(); ++role) {
      const uint32_t words = device_.Results<uint32_t>(guards_)[role];
      if (words > 0) {
        return Rejected{"out-of-bounds-write",
                        fmt::format("{} half-words beside {} were overwritten", words,
                                    problem.Tensor(role).name)};
      }
    }
    for (const Counts& unused : unused_) {
      const uint32_t words = Sum(unused);
      if (words == 0) continue;
      return Rejected{
          "out-of-bounds-write",
          fmt::format("{} words of outputs that no launch was given were overwritten", words)};
    }
    return std::nullopt;
  }

 private:
  struct Counts {
    uint64_t reserved = 0;
    size_t entries = 0;
  };

  Result<uint64_t> Submit(const std::vector<CompareEntry>& entries, int64_t bytes,
                          uint16_t pattern) {
    const uint64_t table = TRY(device_.Upload(entries));
    const uint64_t counts = TRY(device_.ReserveResults(entries.size() * sizeof(uint32_t)));
    TRY(device_.kernels().RunCompare(table, static_cast<int>(entries.size()), bytes, pattern,
                                     counts, device_.stream()));
    return counts;
  }

  uint32_t Sum(const Counts& counts) const {
    uint32_t sum = 0;
    for (size_t i = 0; i < counts.entries; ++i) {
      sum |= device_.Results<uint32_t>(counts.reserved)[i];  // any difference counts; no overflow
    }
    return sum;
  }

  OracleDevice& device_;
  const Arena& arena_;
  uint64_t guards_ = 0;
  std::vector<Counts> inputs_, unused_;
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

std::vector<CompareEntry> UnusedOutputs(const Arena& arena, size_t role, const BatchPlan& batch) {
  std::vector<bool> used(static_cast<size_t>(arena.plan().output_slots), false);
  for (const PlannedLaunch& launch : batch.touch)
    used[static_cast<size_t>(launch.output_slot)] = true;
  for (const PlannedLaunch& launch : batch.timed)
    used[static_cast<size_t>(launch.output_slot)] = true;
  std::vector<CompareEntry> entries;
  for (size_t slot = 0; slot < used.size(); ++slot) {
    if (!used[slot]) entries.push_back({arena.slots(role).AddressOf(static_cast<int>(slot)), 0});
  }
  return entries;
}

std::vector<WrittenOutputs> WrittenBy(const Arena& arena, const BatchPlan& batch) {
  const ResolvedTask& problem = arena.problem();
  std::vector<WrittenOutputs> written;
  for (const auto* launches : {&batch.touch, &batch.timed}) {
    for (const PlannedLaunch& launch : *launches) {
      WrittenOutputs one{{}, arena.ReferenceOf(launch.content)};
      for (size_t role = problem.inputs.size(); role < problem.Roles(); ++role) {
        one.addresses.push_back(arena.slots(role).AddressOf(launch.output_slot));
      }
      written.push_back(std::move(one));
    }
  }
  return written;
}

WrittenOutputs WrittenByCheck(const Arena& arena, const CheckContents& check) {
  const ResolvedTask& problem = arena.problem();
  WrittenOutputs one{{}, arena.ReferenceAt(check.reference)};
  for (size_t role = problem.inputs.size(); role < problem.Roles(); ++role) {
    one.addresses.push_back(arena.exact(role).AddressOf(0));
  }
  return one;
}

}  // namespace

// All checks are submitted before the one synchronisation, and all of them see the same state of
// the memory. The runner has answered by then, and nothing of the next batch was submitted. The
// inputs' slots are all compared, also those that no launch was given.
Result<Inspection> InspectBatch(OracleDevice& device, Arena& arena, const BatchPlan& batch,
                                uint16_t poison, Detail detail) {
  const ResolvedTask& problem = arena.problem();
  Verification outputs(device, arena, WrittenBy(arena, batch));
  Integrity integrity(device, arena);
  TRY(outputs.Submit(poison, false));
  TRY(integrity.SubmitGuards(Integrity::Where::kSlots));
  for (size_t input = 0; input < problem.inputs.size(); ++input) {
    TRY(integrity.SubmitInput(input, InputEntries(arena, input)));
  }
  for (size_t output = 0; output < problem.outputs.size(); ++output) {
    const size_t role = problem.inputs.size() + output;
    TRY(integrity.SubmitUnused(output, UnusedOutputs(arena, role, batch), poison));
  }
  TRY(device.Synchronize());
  return Inspection{TRY(outputs.Read(detail)), integrity.Read()};
}

Result<std::vector<OutputReport>> HashOutputs(OracleDevice& device, const Arena& arena,
                                              const BatchPlan& batch, uint16_t poison) {
  Verification outputs(device, arena, WrittenBy(arena, batch));
  TRY(outputs.SubmitAlone(poison));
  TRY(device.Synchronize());
  return outputs.Read(Detail::kCountsOnly);
}

Result<std::vector<OutputReport>> VerifyOutputs(OracleDevice& device, const Arena& arena,
                                                const BatchPlan& batch, uint16_t poison,
                                                Detail detail) {
  Verification outputs(device, arena, WrittenBy(arena, batch));
  TRY(outputs.Submit(poison, false));
  TRY(device.Synchronize());
  return outputs.Read(detail);
}

Result<PreparedVerification> PrepareVerification(OracleDevice& device, const Arena& arena,
                                                 const PlannedLaunch& launch, uint16_t poison) {
  const BatchPlan alone{{}, {launch}};
  auto outputs = std::make_shared<Verification>(device, arena, WrittenBy(arena, alone));
  TRY(outputs->Prepare(poison, false));
  PreparedVerification look;
  look.submit = [outputs] { return outputs->SubmitPrepared(); };
  look.read = [outputs](Detail detail) -> Result<OutputReport> {
    return TRY(outputs->Read(detail)).front();
  };
  return look;
}

Result<Inspection> InspectCheck(OracleDevice& device, Arena& arena, const CheckContents& check,
                                uint16_t poison) {
  Verification output(device, arena, {WrittenByCheck(arena, check)});
  Integrity integrity(device, arena);
  TRY(output.Submit(poison, check.input == CheckInput::kZeroOne));
  TRY(integrity.SubmitGuards(Integrity::Where::kExact));
  for (size_t input = 0; input < arena.problem().inputs.size(); ++input) {
    TRY(integrity.SubmitInput(
        input, {{arena.exact(input).AddressOf(0), arena.ContentAddress(input, check.content)}}));
  }
  TRY(device.Synchronize());
  return Inspection{TRY(output.Read(Detail::kWorstElement)), integrity.Read()};
}

namespace {

// Bits of 1 in the type, as the 16-bit pattern that RunPoison repeats; types that no pattern gives
// 1 get another constant.
uint16_t ConstantPattern(DType dtype) {
  if (dtype == DType::kF16) return 0x3c00;
  return dtype == DType::kI8 || dtype == DType::kBool ? 0x0101 : 0x3f80;
}

}  // namespace

// Each answer is written where a candidate writes the first check, and is judged as its output is.
// A task that takes one of them for right cannot tell a kernel from a kernel that does nothing.
Result<std::optional<std::string_view>> TrivialAnswerThatPasses(OracleDevice& device,
                                                                Arena& arena) {
  constexpr uint16_t kPoison = 0x7e01;
  const ResolvedTask& problem = arena.problem();
  const CheckContents& check = arena.checks().front();
  const auto passes = [&]() -> Result<bool> {
    Verification verification(device, arena, {WrittenByCheck(arena, check)});
    TRY(verification.Submit(kPoison, false));
    TRY(device.Synchronize());
    return TRY(verification.Read(Detail::kCountsOnly)).front().wrong == 0;
  };
  const auto fill = [&](bool ones) -> Status {
    for (size_t output = 0; output < problem.outputs.size(); ++output) {
      const uint16_t pattern = ones ? ConstantPattern(problem.outputs[output].dtype) : uint16_t{0};
      TRY(device.kernels().RunPoison(arena.exact(problem.inputs.size() + output), pattern,
                                     device.stream()));
    }
    return {};
  };
  TRY(fill(false));
  if (TRY(passes())) return std::optional<std::string_view>("zeros");
  TRY(fill(true));
  if (TRY(passes())) return std::optional<std::string_view>("a constant");
  if (problem.inputs.empty()) return std::optional<std::string_view>();
  TRY(fill(false));
  const Region& output = arena.exact(problem.inputs.size());
  const int64_t bytes = std::min(output.bytes, problem.inputs[0].bytes);
  TRY(cuda::CopyOnDeviceAsync(output.AddressOf(0), arena.ContentAddress(0, check.content),
                              static_cast<size_t>(bytes), device.stream()));
  if (TRY(passes())) return std::optional<std::string_view>("a copy of the first input");
  return std::optional<std::string_view>();
}

Result<OutputReport> CompareReferences(OracleDevice& device, const Arena& arena, int answer,
                                       int right) {
  WrittenOutputs one{{}, arena.ReferenceAt(right)};
  for (const ExpectedTensor& output : arena.ReferenceAt(answer)) {
    one.addresses.push_back(output.values);
  }
  Verification verification(device, arena, {std::move(one)});
  TRY(verification.SubmitReferences());
  TRY(device.Synchronize());
  return TRY(verification.Read(Detail::kCountsOnly)).front();
}

}  // namespace warpsmith::judge
