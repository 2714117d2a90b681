// Random values of every serialized kind, for this folder's property tests.
#ifndef WARPSMITH_CORE_RANDOM_VALUES_H_
#define WARPSMITH_CORE_RANDOM_VALUES_H_

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/serialize.h"

namespace warpsmith {

class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : random_(seed, "values") {}

  LaunchPlan Plan() {
    LaunchPlan plan;
    plan.valid_when = Formula();
    for (int64_t i = Count(2); i > 0; --i) plan.workspaces.push_back({Name(), Formula(), Flip()});
    for (int64_t i = Count(4); i > 0; --i) plan.operations.push_back(AnyOperation());
    return plan;
  }

  Task AnyTask() {
    Task task;
    task.name = Text();
    for (int64_t i = Count(3); i > 0; --i) {
      task.tensors.push_back({"t" + std::to_string(i), static_cast<DType>(random_.Below(8)),
                              static_cast<Role>(random_.Below(2)), Formulas(3),
                              static_cast<Generator>(random_.Below(6)), Formula(), Formula()});
    }
    task.reference = {Text(), {{Text(), Text()}}, {}, {}};
    if (Flip()) task.reference.sources = {{Name(), Text()}};
    if (Flip()) task.reference.plan = Plan();
    if (Flip()) {
      task.tolerance.reduction_length = Formula();
    } else {
      task.tolerance.absolute = 1e-3;
      task.tolerance.reason = Name();
    }
    for (int64_t i = Count(3); i > 0; --i) task.workloads.push_back(AnyWorkload());
    task.baselines = Texts();
    if (Flip()) task.forms = {Form::kProgram, Form::kKernel};
    if (Flip()) task.program = ProgramEntry{Name(), Texts()};
    if (Flip()) task.rivals = {{Name(), AnyCandidate()}};
    task.allow = Texts();
    task.precision = Text();
    task.origin = Text();
    task.headline = Flip();
    task.flops = Formula();
    return task;
  }

  Workload AnyWorkload() {
    return {Text(), {{"M", Count(1'000'000)}, {"K", Count(10)}}, 0.5 + random_.Uniform(), Flip()};
  }

  Candidate AnyCandidate() {
    Candidate candidate;
    candidate.entry = Name();
    candidate.sources = {{candidate.entry, Text()}, {Name(), Text()}};
    candidate.form = static_cast<Form>(random_.Below(2));
    candidate.toolchain = Flip() ? "nvcc" : "nvrtc";
    candidate.flags = Texts();
    candidate.plan = Plan();
    candidate.provenance = AnyProvenance();
    return candidate;
  }

  Provenance AnyProvenance() {
    Provenance provenance{Text(), Text(), Text(), Text(), Text(), {}, Text(), Text(), {}, {}};
    for (int64_t i = Count(3); i > 0; --i) provenance.config[Name()] = Integer();
    if (Flip()) provenance.logprob_sum = Number();
    if (Flip()) provenance.sampling = SamplingParameters{Text(), Number(), Number(), Integer()};
    return provenance;
  }

  Artifact AnyArtifact() {
    Artifact artifact;
    artifact.image_sha256 = Text();
    artifact.architecture = Text();
    artifact.toolchain = Text();
    artifact.kernels = Kernels();
    artifact.writable_global_bytes = Count(100);
    artifact.opcodes = {{Text(), Count(1000)}};
    artifact.warnings = Texts();
    artifact.log = Text();
    artifact.compile_ms = Number();
    artifact.from_cache = Flip();
    return artifact;
  }

  Protocol AnyProtocol() {
    Protocol protocol = Flip() ? Protocol::Certified() : Protocol::Paper();
    protocol.rounds = 1 + static_cast<int>(Count(9));
    protocol.max_rounds = protocol.rounds + static_cast<int>(Count(9));
    protocol.confidence = 0.5 + random_.Uniform() / 3;
    protocol.step_timeout_ms = 1 + Count(100'000);
    return protocol;
  }

  DeviceInfo AnyDevice() {
    return {Text(),   Text(),   Text(),   Text(),   static_cast<int>(Count(200)),
            232448,   Count(9), Count(9), Number(), Number(),
            Number(), Number(), Flip(),   Text()};
  }

  Verdict AnyVerdict() {
    Verdict verdict;
    switch (random_.Below(8)) {
      case 0:
        verdict.outcome = CompileFailed{Text(), Text(), Flip()};
        break;
      case 1:
        verdict.outcome = Rejected{Text(), Text()};
        break;
      case 2:
        verdict.outcome = RunFailed{Text(), Text(), Text()};
        break;
      case 3:
        verdict.outcome = TimedOut{Text(), Count(1000)};
        break;
      case 4:
        verdict.outcome = Incorrect{Text(), Text(), Number(), Number(), Count(9)};
        break;
      case 5:
        verdict.outcome = Inconclusive{Text()};
        break;
      default:
        verdict.outcome = AnyPassed();
    }
    verdict.evidence = {Text(), Text(), Text(), Text(), Text(),    Text(),   Text(),  Text(),
                        Text(), Text(), Text(), Text(), Kernels(), Number(), Number()};
    return verdict;
  }

  Point AnyPoint() { return {Text(), {{Name(), Integer()}}}; }
  Cost AnyCost() { return {Count(9), Number(), Number(), Count(9), Number()}; }
  RewardTerms AnyTerms() { return {Numbers(), Numbers(), Count(1000)}; }

  bool Flip() { return random_.Below(2) == 0; }
  int64_t Count(int64_t most) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most) + 1));
  }
  int64_t Integer() { return static_cast<int64_t>(random_.Bits() >> random_.Below(64)); }

  // Every kind of double, the rare ones often.
  double Number() {
    switch (random_.Below(8)) {
      case 0:
        return 0;
      case 1:
        return std::numeric_limits<double>::quiet_NaN();
      case 2:
        return -std::numeric_limits<double>::infinity();
      case 3:
        return random_.Normal();
      default:
        break;
    }
    double value = 0;
    const uint64_t bits = random_.Bits();
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  std::string Text() {
    constexpr std::string_view kPieces[] = {"a",        "\"",
                                            "\\",       "\n",
                                            "\t",       "\x01",
                                            "\xc3\xbc", "\xf0\x9f\x98\x80",
                                            "{",        "long piece of text "};
    std::string text;
    for (int64_t i = Count(6); i > 0; --i) text += kPieces[random_.Below(std::size(kPieces))];
    return text;
  }
  std::string Name() { return "n" + std::to_string(random_.Bits()); }

 private:
  float Float() {
    float value = 0;
    const auto bits = static_cast<uint32_t>(random_.Bits());
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (int64_t i = Count(3); i > 0; --i) texts.push_back(Text());
    return texts;
  }
  std::vector<double> Numbers() {
    std::vector<double> numbers;
    for (int64_t i = Count(5); i > 0; --i) numbers.push_back(Number());
    return numbers;
  }
  std::vector<KernelResources> Kernels() {
    std::vector<KernelResources> kernels;
    for (int64_t i = Count(2); i > 0; --i) {
      kernels.push_back({Text(), static_cast<int>(Count(255)), static_cast<int>(Count(1)),
                         static_cast<int>(Count(9)), 0, static_cast<int>(Count(9))});
    }
    return kernels;
  }

  Expression Formula() {
    constexpr std::string_view kTexts[] = {"0",
                                           "1",
                                           "-3",
                                           "007",
                                           "M",
                                           "ceil_div(M, 128) * 2",
                                           "9223372036854775807",
                                           "M % 2 == 0 ? 1 : sm_count"};
    return Expression::Literal(kTexts[random_.Below(std::size(kTexts))]);
  }
  std::vector<Expression> Formulas(size_t count) {
    std::vector<Expression> formulas;
    for (size_t i = 0; i < count; ++i) formulas.push_back(Formula());
    return formulas;
  }

  Argument AnyArgument() {
    switch (random_.Below(6)) {
      case 0:
        return TensorArgument{Name()};
      case 1:
        return IntArgument{Formula(), Flip() ? 4 : 8};
      case 2:
        return FloatArgument{Number(), Flip() ? 4 : 8};
      case 3:
        return WorkspaceArgument{Name()};
      case 4:
        return TableArgument{{1, -2, static_cast<int32_t>(random_.Bits())}};
      default:
        break;
    }
    const size_t rank = 1 + random_.Below(5);
    return TensorMapArgument{Name(),
                             static_cast<DType>(random_.Below(7)),
                             Formulas(rank),
                             Formulas(rank - 1),
                             Formulas(rank),
                             Formulas(rank),
                             static_cast<Swizzle>(random_.Below(4)),
                             Flip() ? 0 : 16,
                             Flip() ? 0 : 256,
                             Flip()};
  }

  Operation AnyOperation() {
    switch (random_.Below(4)) {
      case 0:
        return MemsetOperation{Name(), static_cast<uint8_t>(random_.Below(256)), Formula()};
      case 1:
        return CopyOperation{Name(), Name(), Formula()};
      case 2:
        return PadOperation{Name(), Name(), Formula(), Formula(), Formula(), Formula(), Formula()};
      default:
        break;
    }
    LaunchOperation launch;
    launch.kernel = Name();
    for (auto* triple : {&launch.grid, &launch.block, &launch.cluster}) {
      for (Expression& extent : *triple) extent = Formula();
    }
    launch.shared_bytes = Formula();
    launch.cooperative = Flip();
    launch.programmatic = Flip();
    launch.nonportable_cluster = Flip();
    for (int64_t i = Count(4); i > 0; --i) launch.arguments.push_back(AnyArgument());
    return launch;
  }

  ContenderTiming Contender() {
    ContenderTiming contender{Text(), Number(), {Number(), Number()}, {}};
    const bool telemetry = Flip();
    for (int64_t i = Count(5); i > 0; --i) {
      contender.samples.push_back({static_cast<int>(Count(3)), static_cast<int>(Count(9)), Float(),
                                   telemetry ? Float() : 0, telemetry ? Float() : 0, 0});
    }
    return contender;
  }

  SignedMean Mean() { return {Number(), {Number(), Number()}}; }

  Passed AnyPassed() {
    Passed passed{static_cast<Level>(random_.Below(2)),
                  {Numbers(), Number(), Flip(), Count(9), Texts(), Texts()},
                  {},
                  {},
                  {}};
    if (Flip()) passed.correctness.bias = Bias{Count(9), Mean(), Mean(), Number()};
    if (Flip()) passed.correctness.rare_errors = {{Count(9), Number()}, {Count(9), Number()}};
    ModeTiming mode{
        static_cast<Mode>(random_.Below(5)), Number(), Number(), Flip(), Contender(), {}, {}};
    for (int64_t i = Count(2); i > 0; --i) {
      mode.baselines.push_back(Contender());
      mode.comparisons.push_back(
          {Text(), Number(), {Number(), Number()}, static_cast<Finding>(random_.Below(4))});
    }
    for (int64_t i = Count(2); i > 0; --i) passed.timings.push_back({Text(), {mode, mode}});
    if (Flip()) passed.profile = Profile{Text(), {{Text(), {{Text(), Number()}}}}};
    if (Flip()) passed.audits = {{Text(), static_cast<AuditStatus>(random_.Below(2)), Text()}};
    return passed;
  }

  Random random_;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_RANDOM_VALUES_H_
