// What is kept: `warpsmith store`, `export` and `bundle`.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/display_text.h"
#include "base/file.h"
#include "command_tree.h"
#include "commands.h"
#include "compile/worker_compiler.h"
#include "core/serialize.h"
#include "core/step.h"
#include "hgemm/bench/options.h"
#include "hgemm/bench/record.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "search/call_time.h"
#include "search/machine/machine.h"
#include "store/bundle.h"
#include "store/database.h"
#include "store/database_store.h"
#include "store/store_check.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

struct StoreOptions {
  search::CommonOptions common;
  std::string store;   // the database; empty: the user's
  std::string output;  // repair: the new store
};

struct ExportOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string run, output;
  bool force = false;  // over what is in the folder
};

struct BundleOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string folder;
  std::string shapes = "demo", architecture = "sm_90a";  // make
  hgemm::ProductOptions product;
  int limit = 64;
};

using nlohmann::json;

Result<int> RunStoreCheck(const StoreOptions& options) {
  const std::string where = search::StorePath(options.store);
  const std::string path = store::ShownDatabase(where);
  const std::vector<std::string> damage = TRY(store::FindDamage(where));
  if (options.common.json) {
    PrintDocument("store-check", {{"store", path}, {"sound", damage.empty()}, {"damage", damage}});
  } else if (damage.empty()) {
    std::printf("%s: sound\n", path.c_str());
  } else {
    for (const std::string& line : damage) std::printf("%s\n", LinesForTerminal(line).c_str());
    std::printf("%s: damaged; 'warpsmith store repair' makes a new store of what is sound\n",
                path.c_str());
  }
  return damage.empty() ? 0 : 1;
}

Result<int> RunStoreRepair(const StoreOptions& options) {
  const std::string path = search::StorePath(options.store);
  const std::vector<store::KeptRows> tables = TRY(store::Repair(path, options.output));
  json rows = json::object();
  bool whole = true;
  for (const store::KeptRows& table : tables) {
    rows[table.table] = {{"found", table.found}, {"kept", table.kept}};
    whole = whole && table.found == table.kept;
  }
  if (options.common.json) {
    PrintDocument("store-repair", {{"store", path}, {"output", options.output}, {"rows", rows}});
    return whole ? 0 : 1;
  }
  for (const store::KeptRows& table : tables) {
    std::printf("%-16s  %lld of %lld rows\n", table.table.c_str(),
                static_cast<long long>(table.kept), static_cast<long long>(table.found));
  }
  std::printf("%s: what is sound in %s, which is as it was\n", options.output.c_str(),
              path.c_str());
  return whole ? 0 : 1;
}

Result<Step> BestOf(store::DatabaseStore& store, const std::string& wanted) {
  std::vector<RunRecord> known;
  std::string below;  // a run of one shape, where the name is of a whole tuning
  for (const RunRecord& run : TRY(store.Runs())) {
    if (below.empty() && run.id.starts_with(wanted + "/")) below = "; there is '" + run.id + "'";
    if (run.id == wanted || CertifiedRun(run.id) == wanted) known.push_back(run);
  }
  if (known.empty()) {
    return Error{ErrorCode::kNoInput, "no run named '" + wanted + "'" + below,
                 "'warpsmith report' lists the runs"};
  }
  std::optional<Step> best = TRY(store::BestStep(store, known));
  if (!best) {
    return Error{ErrorCode::kNothingMeasured, "run '" + wanted + "' has no kernel that passed",
                 "raise its budget: warpsmith ... --resume"};
  }
  return std::move(*best);
}

Result<int> RunExport(const ExportOptions& options) {
  const auto store = TRY(search::OpenExistingStore(options.device.store));
  const Step best = TRY(BestOf(*store, options.run));
  const std::filesystem::path folder = options.output;
  std::error_code none;
  if (!options.force && std::filesystem::exists(folder, none) &&
      !std::filesystem::is_empty(folder, none)) {
    return Error{ErrorCode::kConfig, options.output + " is there already and is not empty",
                 "name a new folder, or say --force to write over it"};
  }
  TRY(CreateDirectories(folder));
  for (const auto& [name, text] : best.candidate.sources) {
    const std::filesystem::path path = folder / name;
    TRY(CreateDirectories(path.parent_path()));
    TRY(WriteFileAtomic(path, text));
  }
  const nlohmann::json candidate = ToJson(best.candidate);
  TRY(WriteFileAtomic(folder / "plan.json", ToJson(best.candidate.plan).dump(1) + "\n"));
  TRY(WriteFileAtomic(folder / "candidate.json", candidate.dump(1) + "\n"));
  TRY(WriteFileAtomic(folder / "verdict.json", ToJson(best.verdict).dump(1) + "\n"));
  if (options.common.json) {
    PrintDocument("export", {{"folder", options.output},
                             {"candidate", CandidateId(best.candidate)},
                             {"verdict", Describe(best.verdict.outcome)}});
    return 0;
  }
  std::printf("%s: %zu sources, plan.json, candidate.json, verdict.json\n%s\n",
              options.output.c_str(), best.candidate.sources.size(),
              Describe(best.verdict.outcome).c_str());
  return 0;
}

constexpr char kJudgeKernels[] = "judge.cubin";

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
    failed += TRY(hgemm::AddJobs(compiler, options.product, options.architecture, options.limit,
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

}  // namespace

void AddStore(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* store = app.add_subcommand("store", "is the results database sound; save what is");
  store->require_subcommand(1);
  CLI::App* check =
      store->add_subcommand("check", "every page, digest and reference; exit status 1 for damage");
  auto check_options = std::make_shared<StoreOptions>();
  check->add_option("store", check_options->store, "results database; default: yours");
  Choose(check, chosen, check_options, RunStoreCheck);
  CLI::App* repair = store->add_subcommand("repair", "a new store of what is sound in one");
  auto repair_options = std::make_shared<StoreOptions>();
  repair->add_option("store", repair_options->store, "results database; default: yours");
  repair->add_option("-o,--output", repair_options->output, "the new store")->required();
  Choose(repair, chosen, repair_options, RunStoreRepair);
}

void AddExport(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("export", "a run's best kernel: sources, plan, evidence");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("run", options->run, "run name")->required();
  command->add_option("-o,--output", options->output, "folder to write")->required();
  command->add_flag("--force", options->force, "write over what the folder holds");
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunExport);
}

void AddBundle(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* bundle = app.add_subcommand("bundle", "move a batch to a machine with only a GPU");
  bundle->require_subcommand(1);
  const std::tuple<const char*, const char*, Result<int> (*)(const BundleOptions&)> commands[] = {
      {"make", "compile candidates into a folder", RunBundleMake},
      {"run", "judge a folder's candidates here", RunBundleRun},
      {"take", "take a folder's results into the store", RunBundleTake}};
  for (const auto& [name, help, run] : commands) {
    CLI::App* command = bundle->add_subcommand(name, help);
    auto options = std::make_shared<BundleOptions>();
    command->add_option("folder", options->folder, "the bundle")->required();
    if (std::string(name) == "make") {
      command->add_option("--shapes,--grid", options->shapes, "MxNxK,... or demo")
          ->capture_default_str();
      AddProduct(command, options->product);
      command->add_option("--arch", options->architecture, "of the GPU there")
          ->capture_default_str();
      command->add_option("--limit", options->limit, "points a shape")
          ->check(CLI::Range(1, 1'000'000))
          ->capture_default_str();
    }
    AddDevice(command, options->device);
    AddPace(command, options->pace);
    Choose(command, chosen, options, run);
  }
}

}  // namespace warpsmith::cli
