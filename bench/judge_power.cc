// How often the judge says "different" of a kernel and itself (A/A), and how often it finds a known
// difference: kernels of independent multiply-add chains, whose time is proportional to the number
// of turns, against the same with 2 % more turns.
//
//   bench_judge_power OUT.csv [--screened N] [--certified N]
//
// N comparisons of each kernel length and kind. One row a comparison; docs/perf.md says what
// was measured. Needs an NVIDIA GPU. Timing is its subject, so it is not a test.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "compile/worker_compiler.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "judge/runner.h"

namespace warpsmith {
namespace {

constexpr std::string_view kSource = R"(
extern "C" __global__ void chain(const float* x, float* out, int n, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = a + 1.0f;
  for (int turn = 0; turn < turns; ++turn) {
    a = a * 0.99f + 1e-2f;
    b = b * 0.98f + 2e-2f;
  }
  out[i] = x[i] + a + b;  // an answer of its own to each input
}
)";

LaunchPlan PlanOf(int64_t turns) {
  const Expression one = Expression::Constant(1), n = Expression::Literal("N");
  LaunchOperation launch;
  launch.kernel = "chain";
  launch.grid = {Expression::Literal("ceil_div(N, 128)"), one, one};
  launch.block = {Expression::Constant(128), one, one};
  launch.arguments = {TensorArgument{"x"}, TensorArgument{"out"}, IntArgument{n},
                      IntArgument{Expression::Constant(turns)}};
  LaunchPlan plan;
  plan.operations = {launch};
  return plan;
}

Candidate CandidateOf(int64_t turns) {
  Candidate candidate;
  candidate.entry = "chain.cu";
  candidate.sources = {{"chain.cu", std::string(kSource)}};
  candidate.plan = PlanOf(turns);
  return candidate;
}

// The chain's value does not depend on 2 % more turns once it has converged, so a loose absolute
// bound lets both pass.
Job JobOf(Compiler& compiler, const std::string& architecture, int64_t turns, int64_t rival_turns,
          const Protocol& protocol) {
  const Expression n = Expression::Literal("N");
  Job job;
  job.task.name = "chain";
  job.task.tensors = {{"x", DType::kF32, Role::kInput, {n}, Generator::kNormal},
                      {"out", DType::kF32, Role::kOutput, {n}, Generator::kNormal}};
  job.task.reference.kind = "cuda";
  job.task.reference.sources = {{"chain.cu", std::string(kSource)}};
  job.task.reference.options["outputs"] = "f32";
  job.task.reference.plan = PlanOf(turns);
  job.task.tolerance.absolute = 1e-2;
  job.task.tolerance.reason = "both kernels follow the same recurrence, to nearly the same turn";
  job.task.rivals = {{"rival", CandidateOf(rival_turns)}};
  job.task.baselines = {"rival"};
  job.workload = {"n", {{"N", 132 * 4 * 128}}, 1, false};
  job.candidate = CandidateOf(turns);
  const auto built = compiler.Compile(job.candidate, architecture);
  if (built.ok() && std::holds_alternative<Artifact>(*built)) {
    job.artifact = std::get<Artifact>(*built);
  }
  job.protocol = protocol;
  return job;
}

struct Series {
  const char* kind;  // "aa" or "power"
  const char* level;
  int64_t turns, rival_turns;
  int comparisons;
};

void Write(std::FILE* out, const Series& series, int index, const Verdict& verdict) {
  const ModeTiming* timing = FindTiming(verdict, Mode::kDeviceHot);
  if (timing == nullptr || timing->comparisons.empty()) {
    fmt::print(out, "{},{},{},{},{},0,0,0,0,\"{}\"\n", series.kind, series.level, series.turns,
               series.rival_turns, index, Describe(verdict.outcome));
    return;
  }
  const Comparison& comparison = timing->comparisons.front();
  fmt::print(out, "{},{},{},{},{},{:.4f},{:.6f},{:.6f},{:.6f},{}\n", series.kind, series.level,
             series.turns, series.rival_turns, index, timing->candidate.median_us, comparison.ratio,
             comparison.interval.lo, comparison.interval.hi, Name(comparison.finding));
}

int Run(const std::string& path, int screened, int certified) {
  compile::WorkerCompiler compiler;
  auto architecture = judge::ArchitectureOfGpu("");
  if (!architecture.ok()) {
    fmt::print(stderr, "bench_judge_power: {}\n", architecture.error().Line());
    return 69;
  }
  judge::LocalDeviceOptions options;
  options.compiler = &compiler;
  options.standalone_argv = {"/bin/false"};  // no audits: times are the subject
  auto kernels = judge::BuildJudgeKernels(compiler, *architecture);
  if (kernels.ok()) options.kernels = *kernels;
  auto device = judge::LocalDevice::Open(options);
  if (!kernels.ok() || !device.ok()) {
    fmt::print(stderr, "bench_judge_power: {}\n",
               (kernels.ok() ? device.error() : kernels.error()).Line());
    return 69;
  }
  std::FILE* out = std::fopen(path.c_str(), "we");
  if (out == nullptr) return 74;
  fmt::print(out, "# {} driver {}\n", (*device)->Info().name, (*device)->Info().driver);
  fmt::print(out, "kind,level,turns,rival_turns,index,candidate_us,ratio,lo,hi,finding\n");
  std::vector<Series> all;
  Protocol thorough = Protocol::Certified();
  thorough.modes = {Mode::kDeviceHot};
  for (int64_t turns : {1'000, 2'500, 5'000, 12'500, 25'000}) {  // about 4 to 100 us
    all.push_back({"aa", "screened", turns, turns, screened});
    all.push_back({"power", "screened", turns, turns * 102 / 100, screened});
    all.push_back({"aa", "certified", turns, turns, certified});
    all.push_back({"power", "certified", turns, turns * 102 / 100, certified});
  }
  for (const Series& series : all) {
    const bool is_screened = std::string_view(series.level) == "screened";
    const Job job = JobOf(compiler, *architecture, series.turns, series.rival_turns,
                          is_screened ? Protocol::Screened() : thorough);
    for (int i = 0; i < series.comparisons; ++i) {
      if (!(*device)->Submit({job}).ok()) return 70;
      std::vector<Completed> done;
      while (done.empty()) {
        auto some = (*device)->Collect(std::chrono::seconds(60));
        if (!some.ok()) return 70;
        done = *std::move(some);
      }
      Write(out, series, i, done.front().verdict);
      std::fflush(out);
    }
  }
  return std::fclose(out) == 0 ? 0 : 74;
}

}  // namespace
}  // namespace warpsmith

int main(int argc, char** argv) {
  using namespace warpsmith;  // NOLINT(google-build-using-namespace): main's own
  if (argc == 3 && std::string_view(argv[1]) == judge::kRunnerSubcommand) {
    return judge::RunnerMain(std::atoi(argv[2]));
  }
  if (argc == 3 && std::string_view(argv[1]) == compile::kWorkerSubcommand) {
    return compile::CompileWorkerMain(std::atoi(argv[2]));
  }
  int screened = 100, certified = 20;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    (name == "--certified" ? certified : screened) = std::atoi(argv[i + 1]);
  }
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_judge_power OUT.csv [--screened N] [--certified N]\n");
    return 64;
  }
  return Run(argv[1], screened, certified);
}
