#include "profiling.h"

#include <algorithm>
#include <chrono>

#include "cuda/library.h"
#include "judge/floor.h"
#include "profile/best_profiler.h"
#include "profile/ncu_profiler.h"
#include "solo/activity_log.h"
#include "solo/job.h"
#include "solo/solo.h"
#include "util/file.h"
#include "util/subprocess.h"

namespace warpsmith::cli {
namespace {

using profile::KernelTime;

Result<std::vector<std::string>> PrepareSolo(const std::string& uuid, const ProfileJob& job,
                                             const std::filesystem::path& folder) {
  TRY(solo::WriteSoloJob(folder, {job.task, job.workload, job.candidate, job.artifact.architecture},
                         job.artifact.image));
  return std::vector<std::string>{ThisExecutable().string(), std::string(solo::kSoloSubcommand),
                                  folder.string(), "--gpu", uuid};
}

profile::PrepareRun SoloInWindow(const std::string& uuid) {
  return [uuid](const ProfileJob& job,
                const std::filesystem::path& folder) -> Result<std::vector<std::string>> {
    std::vector<std::string> argv = TRY(PrepareSolo(uuid, job, folder));
    argv.emplace_back("--profile-window");
    return argv;
  };
}

std::vector<KernelTime> LastCall(const solo::ActivityLog& log) {
  std::vector<KernelTime> times;
  if (log.calls.empty()) return times;
  const solo::ActivityCall& call = log.calls.back();
  for (const solo::ActivityRecord& record : log.records) {
    const bool inside = record.start_ns >= call.begin_ns && record.start_ns <= call.idle_ns;
    if (record.kind != solo::ActivityKind::kKernel || !inside) continue;
    times.push_back({record.name, static_cast<double>(record.end_ns - record.start_ns)});
  }
  return times;
}

// One execution after another that warms up, on CUPTI's clock: that needs no rights.
Result<std::vector<KernelTime>> TimesOf(const std::string& uuid, const ProfileJob& job) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("times"));
  const std::filesystem::path activity = folder.path() / "activity.json";
  std::vector<std::string> argv = TRY(PrepareSolo(uuid, job, folder.path() / "job"));
  for (const std::string& word :
       {std::string("--runs"), std::string("2"), std::string("--activity"), activity.string()}) {
    argv.push_back(word);
  }
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(1);
  limits.file_bytes = int64_t{1} << 30;
  const ProcessOutcome outcome = TRY(RunProcess(argv, limits));
  if (outcome.exit_status != 0 || outcome.signal != 0 || outcome.timed_out) {
    return Error{ErrorCode::kNothingMeasured, "a run under CUPTI failed: " + outcome.output, ""};
  }
  return LastCall(TRY(solo::ActivityLogFromText(activity.string(), TRY(ReadFile(activity)))));
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

std::unique_ptr<Profiler> MakeProfiler(const DeviceInfo& device, const std::string& ncu,
                                       std::function<void(const std::string& line)> say) {
  profile::NcuOptions options;
  const auto found = cuda::FindTool("ncu");
  options.ncu = !ncu.empty() ? ncu : found.ok() ? found->string() : "";
  options.prepare = SoloInWindow(device.uuid);
  auto counters = std::make_unique<profile::NcuProfiler>(std::move(options));
  if (!ncu.empty()) return counters;
  profile::BestOptions best;
  best.sm_count = device.sm_count;
  best.times = [uuid = device.uuid](const ProfileJob& job) { return TimesOf(uuid, job); };
  best.say = std::move(say);
  return std::make_unique<profile::BestProfiler>(
      std::move(counters), profile::ToldOnceHere(device.driver), std::move(best));
}

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

}  // namespace warpsmith::cli
