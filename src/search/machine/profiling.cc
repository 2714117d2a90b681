#include "search/machine/profiling.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "base/foreign_file.h"
#include "base/subprocess.h"
#include "core/program_shim.h"
#include "cuda/library.h"
#include "judge/profile/ncu_profiler.h"
#include "judge/profile/static_profile.h"
#include "judge/resolved_task.h"
#include "judge/standalone/run_folder.h"
#include "judge/standalone/standalone.h"
#include "sandbox/sandbox.h"

namespace warpsmith::search {
namespace {

using profile::KernelTime;

Result<std::vector<std::string>> PrepareStandalone(const std::string& uuid, const ProfileJob& job,
                                                   const std::filesystem::path& folder) {
  TRY(standalone::WriteStandaloneJob(
      folder, {job.task, job.workload, job.candidate, job.artifact.architecture},
      job.artifact.image));
  return std::vector<std::string>{ThisExecutable().string(),
                                  std::string(standalone::kStandaloneSubcommand), folder.string(),
                                  "--gpu", uuid};
}

profile::PrepareRun StandaloneInWindow(const std::string& uuid) {
  return [uuid](const ProfileJob& job,
                const std::filesystem::path& folder) -> Result<std::vector<std::string>> {
    std::vector<std::string> argv = TRY(PrepareStandalone(uuid, job, folder));
    argv.emplace_back("--profile-window");
    return argv;
  };
}

std::vector<KernelTime> LastCall(const standalone::ActivityLog& log) {
  std::vector<KernelTime> times;
  if (log.calls.empty()) return times;
  const standalone::ActivityCall& call = log.calls.back();
  for (const standalone::ActivityRecord& record : log.records) {
    const bool inside = record.start_ns >= call.begin_ns && record.start_ns <= call.idle_ns;
    if (record.kind != standalone::ActivityKind::kKernel || !inside) continue;
    times.push_back({record.name, static_cast<double>(record.end_ns - record.start_ns)});
  }
  return times;
}

// A program's code is a stranger's: it runs shut in, and the tool around it with it.
Result<std::vector<std::string>> Confined(const std::filesystem::path& folder,
                                          const std::vector<std::string>& command) {
  TRY(sandbox::GiveToUnprivileged(folder));
  return standalone::ConfinedCommand(ThisExecutable().string(), folder, folder, command);
}

// One execution after another that warms up, on CUPTI's clock: that needs no rights.
Result<std::vector<KernelTime>> TimesOf(const std::string& uuid, bool sandboxed,
                                        const ProfileJob& job) {
  constexpr size_t kMostBytes = 256 << 20;
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("times"));
  const std::filesystem::path activity = folder.path() / "activity.json";
  std::vector<std::string> argv = TRY(PrepareStandalone(uuid, job, folder.path() / "job"));
  for (const std::string& word :
       {std::string("--runs"), std::string("2"), std::string("--activity"), activity.string()}) {
    argv.push_back(word);
  }
  if (sandboxed && job.candidate.form == Form::kProgram) argv = TRY(Confined(folder.path(), argv));
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(1);
  limits.file_bytes = int64_t{1} << 30;
  const ProcessOutcome outcome = TRY(RunProcess(argv, limits));
  if (outcome.exit_status != 0 || outcome.signal != 0 || outcome.timed_out) {
    return Error{ErrorCode::kNothingMeasured, "a run under CUPTI failed: " + outcome.output, ""};
  }
  const std::string text = TRY(ReadForeignFile(activity, kMostBytes));
  return LastCall(TRY(standalone::ActivityLogFromText(activity.string(), text)));
}

// Whole paths, which a sandbox can show. What is not found is told by its name.
std::string ProgramOf(const std::string& ncu) {
  if (ncu.find('/') != std::string::npos) return std::filesystem::absolute(ncu).string();
  const auto found = cuda::FindTool(ncu.empty() ? "ncu" : ncu);
  return found.ok() ? found->string() : ncu;
}

// Could tensor cores do this work at the precision that the task asks for?
bool HasTensorTypes(const Task& task) {
  if (task.precision == "f32" || task.precision == "f64") return false;
  const auto multiplies = [](const TensorSpec& tensor) {
    return tensor.role == Role::kInput &&
           (tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16 ||
            tensor.dtype == DType::kI8);
  };
  return std::count_if(task.tensors.begin(), task.tensors.end(), multiplies) >= 2;
}

}  // namespace

std::unique_ptr<Profiler> MakeProfiler(const DeviceInfo& device, ProfilerOptions options) {
  profile::NcuOptions ncu;
  ncu.ncu = ProgramOf(options.ncu);
  ncu.prepare = StandaloneInWindow(device.uuid);
  if (options.sandboxed) ncu.confine = Confined;
  auto counters = profile::MakeNcuProfiler(std::move(ncu));
  if (!options.ncu.empty()) return counters;
  profile::BestOptions best = profile::BestOptionsHere(device.driver);
  best.sm_count = device.sm_count;
  best.programs_confined = options.sandboxed;
  best.times = [uuid = device.uuid, sandboxed = options.sandboxed](const ProfileJob& job) {
    return TimesOf(uuid, sandboxed, job);
  };
  best.say = std::move(options.say);
  return profile::MakeBestProfiler(std::move(counters), std::move(best));
}

Result<profile::ProblemFacts> FactsOf(const DeviceInfo& device, const Task& task,
                                      const Workload& workload) {
  profile::ProblemFacts facts;
  facts.flops = static_cast<double>(TRY(task.flops.Evaluate(workload.sizes)));
  facts.bytes = static_cast<double>(TRY(judge::CompulsoryBytes(task, workload)));
  facts.tensor_types = HasTensorTypes(task);
  facts.tensor_flops_per_s = device.tensor_f16_flops;
  facts.memory_bytes_per_s = device.hbm_bytes_per_s;
  facts.roofline_us = TRY(judge::RooflineUs(device, task, workload, Mode::kDeviceCold));
  return facts;
}

namespace {

Result<Artifact> Compiled(const Candidate& candidate, const std::string& architecture) {
  compile::CompilerOptions options;
  options.count_opcodes = true;
  compile::WorkerCompiler compiler(options);
  const CompileOutcome outcome = TRY(compiler.Compile(candidate, architecture));
  if (const auto* artifact = std::get_if<Artifact>(&outcome)) return *artifact;
  const auto& failed = std::get<CompileFailed>(outcome);
  return Error{ErrorCode::kAnswerIsNo,
               "the candidate does not compile: " + compile::ErrorsOf(failed),
               "mend it, and profile it again"};
}

}  // namespace

Result<Profile> ProfileOf(Machine& machine, const Task& task, const Workload& workload,
                          const Candidate& candidate, const std::string& ncu) {
  const DeviceInfo& device = machine.info();
  if (machine.served() != nullptr && machine.recorded() == nullptr) {
    return machine.served()->TakeProfile(
        Question{task, workload, Protocol::Screened()}.JobOf(candidate));
  }
  // A program is called as its task says: by a shim that is compiled with it.
  const Candidate whole = TRY(WithProgramShim(candidate, task, workload));
  Artifact artifact = TRY(Compiled(whole, device.architecture));
  const ProfileJob job{task, workload, candidate, std::move(artifact)};
  if (machine.recorded() != nullptr) return profile::StaticProfile(job, device.sm_count);
  const auto say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const auto turn = TRY(machine.local()->TakeTurn());
  return MakeProfiler(device, {ncu, machine.sandboxed(), say})->Take(job);
}

}  // namespace warpsmith::search
