#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "commands.h"
#include "compile/worker_compiler.h"
#include "hgemm/bench/options.h"
#include "hgemm/bench/record.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "search/call_time.h"
#include "search/machine/machine.h"
#include "store/bundle.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

constexpr char kJudgeKernels[] = "judge.cubin";

}  // namespace

Result<int> RunBundleMake(const BundleOptions& options) {
  if (!options.architecture.starts_with("sm_") || options.architecture.size() < 5) {
    return Error{ErrorCode::kUsage, "--arch '" + options.architecture + "' is no architecture",
                 "write sm_90a, sm_80, ..."};
  }
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  compile::WorkerCompiler compiler;
  store::BundleContents contents;
  contents.files[kJudgeKernels] = TRY(judge::BuildJudgeKernels(compiler, options.architecture));
  contents.executable = ThisExecutable();
  contents.command = "warpsmith bundle make --shapes " + options.shapes + " " +
                     hgemm::ArgumentsOf(options.product) + " --arch " + options.architecture;
  int failed = 0;
  for (const task::HgemmShape& shape :
       search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)))) {
    failed += TRY(hgemm::AddJobs(compiler, {options.product, options.architecture, options.limit},
                                 shape, contents.jobs));
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
    PrintDocument("bundle",
                  {{"folder", options.folder}, {"jobs", contents.jobs.size()}, {"failed", failed}});
    return 0;
  }
  std::printf(
      "%s: %zu jobs, %d did not compile. Copy the folder to the GPU machine, start ./run "
      "there, copy it back, then 'warpsmith bundle take %s', or give it as --device\n",
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
  const search::CallTime time(options.pace);
  const auto stop = [&] { return time.IsOver(); };
  const store::BundleProgress progress =
      TRY(store::RunBundle(bundle, *device, stop, [&](const store::BundleProgress& now) {
        if (!options.common.quiet && (now.done % 20 == 0 || now.done == now.total)) {
          std::fprintf(stderr, "%ld/%ld\n", static_cast<long>(now.done),
                       static_cast<long>(now.total));
        }
      }));
  if (options.common.json) {
    PrintDocument(
        "bundle",
        {{"folder", options.folder}, {"judged", progress.done}, {"jobs", progress.total}});
    return StatusNow();
  }
  std::printf("%ld of %ld judged%s\n", static_cast<long>(progress.done),
              static_cast<long>(progress.total),
              progress.done < progress.total ? "; the same command goes on" : "");
  return StatusNow();
}

Result<int> RunBundleTake(const BundleOptions& options) {
  const auto store = TRY(search::OpenStore(options.device.store, store::Durability::kPowerLoss));
  const store::TakenBundle taken = TRY(store::TakeBundle(options.folder, *store));
  if (taken.imported + taken.known_before == 0) {
    return Error{ErrorCode::kNothingMeasured,
                 options.folder + " holds no results of its " +
                     std::to_string(taken.without_result) + " jobs",
                 "start its ./run where the GPU is"};
  }
  if (options.common.json) {
    PrintDocument("bundle", {{"folder", options.folder},
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
