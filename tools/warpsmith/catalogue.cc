#include "catalogue.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/file.h"
#include "core/ranking.h"
#include "dispatch_commands.h"
#include "hgemm/built_kernels.h"
#include "hgemm/comparison_guard.h"
#include "hgemm_products.h"
#include "machine.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

constexpr char kShipped[] = "data/hgemm/catalogue.csv";

std::vector<hgemm::CatalogueResult> ResultsOf(const Passed& passed) {
  std::vector<hgemm::CatalogueResult> results;
  for (const ModeTiming& mode : passed.timings.front().modes) {
    for (const Comparison& comparison : mode.comparisons) {
      for (const ContenderTiming& baseline : mode.baselines) {
        if (baseline.name != comparison.baseline) continue;
        results.push_back({mode.mode, comparison.baseline, mode.candidate.median_us,
                           baseline.median_us, comparison.ratio, comparison.interval});
      }
    }
  }
  return results;
}

bool IsOfTuning(const std::string& run, const std::string& wanted) {
  return wanted.empty() || run == wanted || run.starts_with(wanted + "/");
}

std::string OrUnknown(const std::string& text) { return text.empty() ? "unknown" : text; }

// Certified before screened, then by the ratio to the bar.
using Rank = std::pair<bool, double>;
struct Best {
  Rank rank;
  hgemm::CatalogueRow row;
};

bool CanBeginWithGiven(const std::string& proposer) {
  return proposer == "guided" || proposer == "brief";
}

}  // namespace

Result<std::string> CatalogueTerm(const hgemm::Catalogue& catalogue) {
  if (catalogue.rows.empty()) return std::string("none");
  return hgemm::CatalogueHash(hgemm::AsBuiltNow(catalogue));
}

void Tell(const CommonOptions& common, const std::string& output, const std::string& words,
          nlohmann::json document) {
  if (common.json && output != "-") {
    document["version"] = 1;
    document["file"] = output;
    std::printf("%s\n", document.dump(1).c_str());
  } else if (!common.quiet) {
    std::fprintf(stderr, "%s\n", words.c_str());
  }
}

Result<hgemm::Catalogue> ReadCatalogue(const std::string& path) {
  return hgemm::ParseCatalogue(path, TRY(ReadFile(path)));
}

Status WriteCatalogue(const hgemm::Catalogue& catalogue, const std::string& path) {
  const std::string text = TRY(hgemm::ToText(catalogue));
  if (path != "-") return WriteFileAtomic(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Error{ErrorCode::kIo, "writing the catalogue to stdout failed", ""};
}

std::optional<hgemm::CatalogueRow> RowOf(const RunRecord& run, const Step& step) {
  const auto* passed = std::get_if<Passed>(&step.verdict.outcome);
  if (passed == nullptr || passed->timings.empty() || task::LayoutOf(run.task).empty()) {
    return std::nullopt;
  }
  const Provenance& provenance = step.candidate.provenance;
  if (provenance.family.empty() || provenance.config.empty()) return std::nullopt;
  const Evidence& evidence = step.verdict.evidence;
  hgemm::CatalogueRow row;
  row.problem = ProblemOf(run.task, run.workload);
  row.device = OrUnknown(evidence.device);
  row.kernel = {provenance.family, provenance.config};
  row.candidate = CandidateId(step.candidate);
  row.plan_id = hgemm::PlanId(step.candidate.plan);
  row.artifact = evidence.artifact_sha256;
  row.results = hgemm::AsWritten(ResultsOf(*passed));
  if (row.results.empty() || row.artifact.size() != 64) return std::nullopt;
  row.choice = hgemm::Guarded(row.results);
  row.architecture = OrUnknown(evidence.architecture);
  row.driver = OrUnknown(evidence.driver);
  row.toolkit = OrUnknown(evidence.toolchain);
  row.library = OrUnknown(evidence.baseline_library);
  row.level = Name(passed->level);
  row.date = OrUnknown(evidence.date);
  return row;
}

Result<hgemm::Catalogue> CatalogueOf(Store& store, const std::string& run) {
  std::map<std::string, Best> best;
  for (const RunRecord& record : TRY(store.Runs())) {
    if (!IsOfTuning(record.id, run) || task::LayoutOf(record.task).empty()) continue;
    for (const Step& step : TRY(store.Steps(record.id))) {
      const auto row = RowOf(record, step);
      if (!row) continue;
      const Rank rank{row->level == Name(Level::kCertified),
                      RankingRatio(step.verdict, row->results.front().mode).value_or(0)};
      const auto [place, fresh] = best.emplace(hgemm::KeyText(*row), Best{rank, *row});
      if (!fresh && rank > place->second.rank) place->second = {rank, *row};
    }
  }
  hgemm::Catalogue catalogue;
  for (auto& [key, entry] : best) catalogue.rows.push_back(std::move(entry.row));
  return hgemm::Merge(std::span(&catalogue, 1));
}

Result<std::optional<hgemm::Catalogue>> ShippedCatalogue() {
  const Result<std::filesystem::path> path = FindShippedFile(kShipped);
  if (!path.ok()) return std::optional<hgemm::Catalogue>();
  return std::optional(TRY(ReadCatalogue(path->string())));
}

Result<int> RunCatalogueMake(const CatalogueMakeOptions& options) {
  const auto store = TRY(OpenExistingStore(options.store));
  const hgemm::Catalogue catalogue = TRY(CatalogueOf(*store, options.run));
  if (catalogue.rows.empty()) {
    return Error{ErrorCode::kNothingMeasured,
                 options.run.empty() ? "the store has no tuned HGEMM shape"
                                     : "no run of '" + options.run + "' tuned an HGEMM shape",
                 "run 'warpsmith hgemm tune' first; 'warpsmith report' lists the runs"};
  }
  TRY(WriteCatalogue(catalogue, options.output));
  Tell(options.common, options.output,
       std::to_string(catalogue.rows.size()) + " rows in " + options.output,
       {{"schema", "warpsmith.catalogue-make"}, {"rows", catalogue.rows.size()}});
  return 0;
}

Result<int> RunCatalogueMerge(const CatalogueMergeOptions& options) {
  std::vector<hgemm::Catalogue> parts;
  size_t rows = 0;
  for (const std::string& file : options.files) {
    parts.push_back(TRY(ReadCatalogue(file)));
    rows += parts.back().rows.size();
  }
  const hgemm::Catalogue merged = hgemm::Merge(parts);
  TRY(WriteCatalogue(merged, options.output));
  const auto compared = std::count_if(merged.rows.begin(), merged.rows.end(), [](const auto& row) {
    return row.level == hgemm::kComparedLevel;
  });
  Tell(options.common, options.output,
       std::to_string(merged.rows.size()) + " rows of " + std::to_string(rows) + " in " +
           options.output + "; " + std::to_string(compared) +
           " of them were chosen by a comparison",
       {{"schema", "warpsmith.catalogue-merge"},
        {"rows", merged.rows.size()},
        {"rows_read", rows},
        {"compared", compared}});
  return 0;
}

Result<int> RunCatalogueCheck(const CatalogueCheckOptions& options) {
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& file : options.files) {
    const hgemm::Catalogue catalogue = TRY(ReadCatalogue(file));
    size_t kernels = 0, changed = 0, unknown = 0;
    for (const hgemm::CatalogueRow& row : catalogue.rows) {
      kernels += row.choice == hgemm::Choice::kKernel ? 1 : 0;
      const Result<bool> differs = hgemm::HasChanged(row);
      unknown += differs.ok() ? 0 : 1;
      changed += differs.ok() && *differs ? 1 : 0;
    }
    files.push_back({{"file", file},
                     {"rows", catalogue.rows.size()},
                     {"kernels", kernels},
                     {"changed", changed},
                     {"unknown", unknown}});
    if (!options.common.json) {
      std::printf(
          "%s: %zu rows, %zu choose kernels; %zu kernels are built otherwise now, %zu are "
          "not known here\n",
          file.c_str(), catalogue.rows.size(), kernels, changed, unknown);
    }
  }
  if (options.common.json) {
    const nlohmann::json document = {
        {"schema", "warpsmith.catalogue-check"}, {"version", 1}, {"files", files}};
    std::printf("%s\n", document.dump(1).c_str());
  }
  return 0;
}

Result<hgemm::Catalogue> NearbyCatalogue(const std::string& near, const std::string& proposer,
                                         bool is_replay) {
  if (near == "none") return hgemm::Catalogue();
  if (near.empty()) {
    if (is_replay || !CanBeginWithGiven(proposer)) return hgemm::Catalogue();
    return TRY(ShippedCatalogue()).value_or(hgemm::Catalogue());
  }
  if (!CanBeginWithGiven(proposer)) {
    return Error{
        ErrorCode::kUsage,
        "--near is for searches that can begin with given kernels, '" + proposer + "' cannot",
        "choose --proposer guided or brief"};
  }
  return ReadCatalogue(near);
}

}  // namespace warpsmith::cli
