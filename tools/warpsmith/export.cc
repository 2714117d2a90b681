#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "commands.h"
#include "core/serialize.h"
#include "core/step.h"
#include "search/machine/machine.h"
#include "store/database_store.h"

namespace warpsmith::cli {
namespace {

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

}  // namespace

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

}  // namespace warpsmith::cli
