#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "cuda/library.h"
#include "judge/floor.h"
#include "judging.h"
#include "profile/best_profiler.h"
#include "profile/ncu_profiler.h"
#include "profile/render.h"
#include "solo/job.h"
#include "solo/solo.h"
#include "util/file.h"

namespace warpsmith::cli {
namespace {

void Print(const ProfileOptions& options, const Profile& profile,
           const profile::ProblemFacts& facts) {
  const profile::BottleneckReport report = profile::Diagnose(profile, facts);
  if (options.common.json) {
    std::printf("%s\n", profile::ToJson(report, profile).dump(1).c_str());
  } else if (options.model) {
    std::fputs(profile::ModelBlock(report).c_str(), stdout);
  } else {
    std::fputs(profile::Words(report).c_str(), stdout);
  }
}

Result<int> FromFile(const ProfileOptions& options) {
  const profile::NcuReport report =
      TRY(profile::ReadNcuReport(options.from, TRY(ReadFile(options.from))));
  if (report.unread_rows > 0 && !options.common.quiet) {
    std::fprintf(stderr, "%s: %d rows do not fit the table and were left out\n",
                 options.from.c_str(), report.unread_rows);
  }
  Print(options, {"ncu, saved", report.kernels}, {});
  return 0;
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

// Caches are flushed before each kernel of a profile, so its floor is the cold one.
Result<profile::ProblemFacts> FactsOf(const DeviceInfo& device, const Task& task,
                                      const Workload& workload) {
  profile::ProblemFacts facts;
  facts.flops = static_cast<double>(TRY(task.flops.Evaluate(workload.sizes)));
  facts.bytes = static_cast<double>(TRY(judge::CompulsoryBytes(task, workload)));
  facts.tensor_types = HasTensorTypes(task);
  facts.tensor_flops_per_s = device.tensor_f16_flops;
  facts.memory_bytes_per_s = device.hbm_bytes_per_s;
  facts.floor_us = TRY(judge::FloorUs(device, task, workload, Mode::kDeviceCold));
  return facts;
}

Result<Artifact> Compiled(const Candidate& candidate, const std::string& architecture) {
  compile::CompilerOptions options;
  options.count_opcodes = true;
  compile::WorkerCompiler compiler(options);
  const CompileOutcome outcome = TRY(compiler.Compile(candidate, architecture));
  if (const auto* artifact = std::get_if<Artifact>(&outcome)) return *artifact;
  const auto& failed = std::get<CompileFailed>(outcome);
  return Error{ErrorCode::kAnswerIsNo, "the candidate does not compile: " + failed.reason,
               "'warpsmith evaluate' shows the compiler's log"};
}

profile::PrepareRun SoloRun(const DeviceInfo& device) {
  return [device](const ProfileJob& job,
                  const std::filesystem::path& folder) -> Result<std::vector<std::string>> {
    TRY(solo::WriteSoloJob(folder,
                           {job.task, job.workload, job.candidate, job.artifact.architecture},
                           job.artifact.image));
    return std::vector<std::string>{ThisExecutable().string(),
                                    std::string(solo::kSoloSubcommand),
                                    folder.string(),
                                    "--profile-window",
                                    "--gpu",
                                    device.uuid};
  };
}

std::string FindNcu(const ProfileOptions& options) {
  if (!options.ncu.empty()) return options.ncu;
  const auto found = cuda::FindTool("ncu");
  return found.ok() ? found->string() : "";
}

Result<Profile> Taken(const ProfileOptions& options, Machine& machine, const ProfileJob& job) {
  const DeviceInfo& device = machine.info();
  if (machine.recorded() != nullptr) return profile::StaticProfile(job, device.sm_count);
  profile::NcuOptions ncu;
  ncu.ncu = FindNcu(options);
  ncu.prepare = SoloRun(device);
  auto counters = std::make_unique<profile::NcuProfiler>(std::move(ncu));
  if (!options.ncu.empty()) return counters->Take(job);  // asked for by name: no other will do
  profile::BestOptions best;
  best.sm_count = device.sm_count;
  best.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  return profile::BestProfiler(std::move(counters), profile::ToldOnceHere(device.driver), best)
      .Take(job);
}

}  // namespace

Result<int> RunProfile(const ProfileOptions& options) {
  if (!options.from.empty()) return FromFile(options);
  if (options.task.empty() || options.candidate.empty()) {
    return Error{ErrorCode::kUsage,
                 "profile needs a task and a candidate, or --from a saved report",
                 "warpsmith profile TASK CANDIDATE"};
  }
  const task::LoadedTask loaded = TRY(LoadJudgeable(options.task, options.workload));
  const auto candidates = TRY(LoadCandidates({options.candidate}));
  if (candidates.size() != 1) {
    return Error{ErrorCode::kUsage,
                 options.candidate + " holds " + std::to_string(candidates.size()) + " candidates",
                 "profile one without [tunables], such as 'warpsmith export' writes"};
  }
  Machine machine = TRY(Machine::Open(options.device));
  const DeviceInfo& device = machine.info();
  if (machine.recorded() != nullptr && !options.common.quiet) {
    std::fprintf(stderr, "no NVIDIA GPU here: what can be said of the code for %s without a run\n",
                 device.name.c_str());
  }
  const Candidate& candidate = candidates.front().second;
  const ProfileJob job{loaded.task, loaded.workload, candidate,
                       TRY(Compiled(candidate, device.architecture))};
  const profile::ProblemFacts facts = TRY(FactsOf(device, loaded.task, loaded.workload));
  Print(options, TRY(Taken(options, machine, job)), facts);
  return 0;
}

}  // namespace warpsmith::cli
