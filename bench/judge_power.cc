// How often the judge says "different" of a kernel and itself (A/A), and how often it finds a known
// difference: kernels of independent multiply-add chains, whose time is proportional to the number
// of turns, against the same with 2 % more turns.
//
//   bench_judge_power OUT.csv [--screened N] [--certified N] [--programs N]
//
// N comparisons of each kernel length and kind; --programs: N A/A and N/8 others of programs,
// screened, on the wall clock.
// One row a comparison; docs/perf.md says what was measured. Needs an NVIDIA GPU, and nvcc for
// programs. Timing is its subject, so it is not a test.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/worker_compiler.h"
#include "core/program_shim.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "judge/program_session.h"
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

Candidate CandidateOf(int64_t turns, Form form) {
  Candidate candidate;
  candidate.form = form;
  candidate.entry = "chain.cu";
  candidate.sources = {{"chain.cu", std::string(kSource)}};
  if (form == Form::kKernel) {
    candidate.plan = PlanOf(turns);
  } else {
    candidate.toolchain = "nvcc";
    candidate.sources.begin()->second += fmt::format(
        "void run(const float* x, float* out, int n) {{ chain<<<(n + 127) / 128, 128>>>(x, out, n, "
        "{}); }}\n",
        turns);
  }
  return candidate;
}

struct Series {
  const char* kind;  // "aa" or "power"; of programs "program-aa", "program-power"
  const char* level;
  int64_t turns, rival_turns;
  int comparisons;
  Form form = Form::kKernel;
};

// The chain's value does not depend on 2 % more turns once it has converged, so a loose absolute
// bound lets both pass.
Result<Job> JobOf(Compiler& compiler, const std::string& architecture, const Series& series,
                  const Protocol& protocol) {
  const Expression n = Expression::Literal("N");
  Job job;
  job.task.name = "chain";
  job.task.tensors = {{"x", DType::kF32, Role::kInput, {n}, Generator::kNormal},
                      {"out", DType::kF32, Role::kOutput, {n}, Generator::kNormal}};
  job.task.reference.kind = "cuda";
  job.task.reference.sources = {{"chain.cu", std::string(kSource)}};
  job.task.reference.options["outputs"] = "f32";
  job.task.reference.plan = PlanOf(series.turns);
  job.task.tolerance.absolute = 1e-2;
  job.task.tolerance.reason = "both kernels follow the same recurrence, to nearly the same turn";
  job.task.forms = {series.form};
  job.task.program = {"void run(const float* x, float* out, int n)", {"x", "out", "N"}};
  job.task.rivals = {{"rival", CandidateOf(series.rival_turns, series.form)}};
  job.task.baselines = {"rival"};
  job.workload = {"n", {{"N", 132 * 4 * 128}}, 1, false};
  job.candidate = CandidateOf(series.turns, series.form);
  const Candidate whole = TRY(WithProgramShim(job.candidate, job.task, job.workload));
  const CompileOutcome built = TRY(compiler.Compile(whole, architecture));
  if (const auto* failed = std::get_if<CompileFailed>(&built)) {
    return Error{ErrorCode::kInternal, failed->reason, ""};
  }
  job.artifact = std::get<Artifact>(built);
  job.protocol = protocol;
  return job;
}

void Write(std::FILE* out, const Series& series, int index, const Verdict& verdict) {
  const Mode mode = series.form == Form::kProgram ? Mode::kWall : Mode::kDeviceHot;
  const ModeTiming* timing = FindTiming(verdict, mode);
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

int Run(const std::string& path, int screened, int certified, int programs) {
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
  for (int64_t turns : {12'500, 50'000}) {  // about 50 and 200 us
    all.push_back({"program-aa", "screened", turns, turns, programs, Form::kProgram});
    all.push_back(
        {"program-power", "screened", turns, turns * 102 / 100, programs / 8, Form::kProgram});
  }
  std::vector<std::pair<Series, Job>> jobs;
  int most = 0;
  for (const Series& series : all) {
    const bool is_screened = std::string_view(series.level) == "screened";
    if (series.comparisons == 0) continue;
    most = std::max(most, series.comparisons);
    const Protocol protocol = is_screened ? Protocol::Screened() : thorough;
    auto job = JobOf(compiler, *architecture, series, protocol.For(series.form));
    if (!job.ok()) {
      fmt::print(stderr, "bench_judge_power: {}\n", job.error().Line());
      return 70;
    }
    jobs.emplace_back(series, *std::move(job));
  }
  // In turns, so that a run that is cut short has some of every series.
  for (int i = 0; i < most; ++i) {
    for (const auto& [series, job] : jobs) {
      if (i >= series.comparisons) continue;
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
  if (argc >= 2 && argv[1] == std::string_view(compile::kNvccSubcommand)) {
    return compile::NvccMain({argv + 2, argv + argc});
  }
  if (argc == 3 && std::string_view(argv[1]) == judge::kRunnerSubcommand) {
    return judge::RunnerMain(std::atoi(argv[2]));
  }
  if (argc == 3 && std::string_view(argv[1]) == judge::kProgramSubcommand) {
    return judge::ProgramMain(std::atoi(argv[2]));
  }
  if (argc == 3 && std::string_view(argv[1]) == compile::kWorkerSubcommand) {
    return compile::CompileWorkerMain(std::atoi(argv[2]));
  }
  int screened = 100, certified = 20, programs = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    int& of_name = name == "--certified" ? certified : name == "--programs" ? programs : screened;
    of_name = std::atoi(argv[i + 1]);
  }
  if (argc < 2) {
    fmt::print(stderr,
               "usage: bench_judge_power OUT.csv [--screened N] [--certified N] [--programs N]\n");
    return 64;
  }
  return Run(argv[1], screened, certified, programs);
}
