#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/interrupt.h"
#include "call_time.h"
#include "commands.h"
#include "compile/worker_compiler.h"
#include "hgemm/cost_model.h"
#include "hgemm/family.h"
#include "hgemm_products.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "machine.h"
#include "search.h"
#include "search/proposers/closed_subset.h"
#include "search/slice.h"
#include "store/bundle.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

constexpr char kJudgeKernels[] = "judge.cubin";

// What can be known of a GPU that is elsewhere: its architecture, and the largest such part.
hgemm::Target TargetElsewhere(const std::string& architecture) {
  DeviceInfo info;
  info.architecture = architecture;
  info.sm_count = hgemm::Target{}.sm_count;
  info.max_shared_bytes_per_block =
      architecture.starts_with("sm_9") ? hgemm::Target{}.max_shared_bytes : 99 * 1024;
  return hgemm::TargetOf(info);
}

Result<int> AddJobs(Compiler& compiler, const BundleOptions& options, const task::HgemmShape& shape,
                    std::vector<Job>& jobs) {
  const Task task = TaskOf(options.product);
  const Workload workload = task::HgemmWorkload(shape);
  const hgemm::Problem problem = ProblemOf(task, workload);
  const hgemm::Target target = TargetElsewhere(options.architecture);
  const Space space = proposers::ClosedSubset(
      hgemm::SpaceFor(problem, target),
      [&](const Point& point) { return hgemm::PredictUs(problem, target, point); }, options.limit);
  int failed = 0;
  for (const Point& point : space.points()) {
    if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped while compiling", ""};
    Candidate candidate = TRY(hgemm::MakeCandidate(problem, point));
    CompileOutcome outcome = TRY(compiler.Compile(candidate, options.architecture));
    auto* artifact = std::get_if<Artifact>(&outcome);
    if (artifact == nullptr) {
      ++failed;
      continue;
    }
    const Protocol protocol = SearchProtocol();
    std::string key = MeasurementKey(candidate, task, workload, protocol);
    jobs.push_back(
        {std::move(key), task, workload, std::move(candidate), std::move(*artifact), protocol});
  }
  return failed;
}

void PrintJson(nlohmann::json fields) {
  fields["schema"] = "warpsmith.bundle";
  fields["version"] = 1;
  std::printf("%s\n", fields.dump(1).c_str());
}

Status CheckArchitecture(const std::string& architecture) {
  if (architecture.starts_with("sm_") && architecture.size() >= 5) return {};
  return Error{ErrorCode::kUsage, "--arch '" + architecture + "' is no architecture",
               "write sm_90a, sm_80, ..."};
}

}  // namespace

Result<int> RunBundleMake(const BundleOptions& options) {
  TRY(CheckArchitecture(options.architecture));
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  compile::WorkerCompiler compiler;
  store::BundleContents contents;
  contents.files[kJudgeKernels] = TRY(judge::BuildJudgeKernels(compiler, options.architecture));
  contents.executable = ThisExecutable();
  contents.command = "warpsmith bundle make --shapes " + options.shapes + " " +
                     ArgumentsOf(options.product) + " --arch " + options.architecture;
  int failed = 0;
  for (const task::HgemmShape& shape :
       search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)))) {
    failed += TRY(AddJobs(compiler, options, shape, contents.jobs));
    if (!options.common.quiet) {
      std::fprintf(stderr, "%s: %zu jobs so far\n", task::Name(shape).c_str(),
                   contents.jobs.size());
    }
  }
  if (contents.jobs.empty()) {
    return Error{ErrorCode::kNothingMeasured,
                 "no candidate compiled for " + options.architecture + " (" +
                     std::to_string(failed) + " tried): no bundle was made",
                 "name another --arch, or look at the toolkit with 'warpsmith doctor'"};
  }
  TRY(store::MakeBundle(options.folder, contents));
  if (options.common.json) {
    PrintJson({{"folder", options.folder}, {"jobs", contents.jobs.size()}, {"failed", failed}});
    return 0;
  }
  std::printf(
      "%s: %zu jobs, %d did not compile. Copy the folder to the GPU machine, start ./run "
      "there, copy it back, then 'warpsmith bundle take %s'\n",
      options.folder.c_str(), contents.jobs.size(), failed, options.folder.c_str());
  return 0;
}

Result<int> RunBundleRun(const BundleOptions& options) {
  const store::Bundle bundle = TRY(store::ReadBundle(options.folder));
  judge::LocalDeviceOptions local;
  local.gpu = options.device.gpu;
  local.lock_patience = std::chrono::seconds(options.device.wait_seconds);
  const auto kernels = bundle.files.find(kJudgeKernels);
  if (kernels == bundle.files.end()) {
    return Error{ErrorCode::kBadInput,
                 options.folder + ": manifest.json names no " + std::string(kJudgeKernels),
                 "make the bundle again"};
  }
  local.kernels = kernels->second;
  const auto device = TRY(judge::LocalDevice::Open(std::move(local)));
  const CallTime time(options.pace);
  const auto stop = [&] { return time.IsOver(); };
  const store::BundleProgress progress =
      TRY(store::RunBundle(bundle, *device, stop, [&](const store::BundleProgress& now) {
        if (!options.common.quiet && (now.done % 20 == 0 || now.done == now.total)) {
          std::fprintf(stderr, "%ld/%ld\n", static_cast<long>(now.done),
                       static_cast<long>(now.total));
        }
      }));
  if (options.common.json) {
    PrintJson({{"folder", options.folder}, {"judged", progress.done}, {"jobs", progress.total}});
    return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0;
  }
  std::printf("%ld of %ld judged%s\n", static_cast<long>(progress.done),
              static_cast<long>(progress.total),
              progress.done < progress.total ? "; the same command goes on" : "");
  return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0;
}

Result<int> RunBundleTake(const BundleOptions& options) {
  const auto store = TRY(OpenStore(options.device.store, store::Durability::kPowerLoss));
  const store::TakenBundle taken = TRY(store::TakeBundle(options.folder, *store));
  if (taken.imported + taken.known_before == 0) {
    return Error{ErrorCode::kNothingMeasured,
                 options.folder + " holds no results of its " +
                     std::to_string(taken.without_result) + " jobs",
                 "start its ./run where the GPU is"};
  }
  if (options.common.json) {
    PrintJson({{"folder", options.folder},
               {"imported", taken.imported},
               {"known_before", taken.known_before},
               {"without_result", taken.without_result}});
    return 0;
  }
  std::printf("%ld verdicts taken, %ld known before, %ld jobs without a result\n",
              static_cast<long>(taken.imported), static_cast<long>(taken.known_before),
              static_cast<long>(taken.without_result));
  return 0;
}

}  // namespace warpsmith::cli
