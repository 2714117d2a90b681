#include "hgemm/bench/catalogues.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/verdict.h"
#include "hgemm/comparison_summary.h"
#include "hgemm/family.h"
#include "report/run_report.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {
namespace {

std::vector<CatalogueResult> ResultsOf(const Passed& passed) {
  std::vector<CatalogueResult> results;
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

// Certified before screened, then by the ratio to the bar.
using Rank = std::pair<bool, double>;
struct Best {
  Rank rank;
  CatalogueRow row;
};

bool CanBeginWithGiven(const std::string& proposer) {
  return proposer == "guided" || proposer == "brief";
}

}  // namespace

std::string OrUnknown(const std::string& text) { return text.empty() ? "unknown" : text; }

Result<std::string> CatalogueTerm(const Catalogue& catalogue) {
  if (catalogue.rows.empty()) return std::string("none");
  return CatalogueHash(AsBuiltNow(catalogue));
}

Result<Catalogue> ReadCatalogue(const std::string& path) {
  return ParseCatalogue(path, TRY(ReadFile(path)));
}

Status WriteCatalogue(const Catalogue& catalogue, const std::string& path) {
  const std::string text = TRY(ToText(catalogue));
  if (path != "-") return WriteFileAtomic(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Error{ErrorCode::kIo, "writing the catalogue to stdout failed", ""};
}

std::optional<CatalogueRow> RowOf(const RunRecord& run, const Step& step) {
  const auto* passed = std::get_if<Passed>(&step.verdict.outcome);
  if (passed == nullptr || passed->timings.empty() || task::LayoutOf(run.task).empty()) {
    return std::nullopt;
  }
  const Provenance& provenance = step.candidate.provenance;
  if (provenance.family.empty() || provenance.config.empty()) return std::nullopt;
  const Evidence& evidence = step.verdict.evidence;
  CatalogueRow row;
  row.problem = search::ProblemOf(run.task, run.workload);
  row.device = OrUnknown(evidence.device);
  row.kernel = {provenance.family, provenance.config};
  row.candidate = CandidateId(step.candidate);
  row.plan_id = PlanId(step.candidate.plan);
  row.artifact = evidence.artifact_sha256;
  row.results = AsWritten(ResultsOf(*passed));
  if (row.results.empty() || row.artifact.size() != 64) return std::nullopt;
  row.choice = Guarded(row.results);
  row.architecture = OrUnknown(evidence.architecture);
  row.driver = OrUnknown(evidence.driver);
  row.toolkit = OrUnknown(evidence.toolchain);
  row.library = OrUnknown(evidence.baseline_library);
  row.level = warpsmith::Name(passed->level);
  row.date = OrUnknown(evidence.date);
  return row;
}

Result<Catalogue> CatalogueOf(Store& store, const std::string& run) {
  std::map<std::string, Best> best;
  for (const RunRecord& record : TRY(store.Runs())) {
    if (!IsOfTuning(record.id, run) || task::LayoutOf(record.task).empty()) continue;
    for (const Step& step : TRY(store.Steps(record.id))) {
      const auto row = RowOf(record, step);
      if (!row) continue;
      const Rank rank{row->level == warpsmith::Name(Level::kCertified),
                      RankingRatio(step.verdict, row->results.front().mode).value_or(0)};
      const auto [place, fresh] = best.emplace(KeyText(*row), Best{rank, *row});
      if (!fresh && rank > place->second.rank) place->second = {rank, *row};
    }
  }
  Catalogue catalogue;
  for (auto& [key, entry] : best) catalogue.rows.push_back(std::move(entry.row));
  return Merge(std::span(&catalogue, 1));
}

std::string ShippedCatalogueFile(const Problem& problem) {
  const bool bf16 = problem.dtype == DType::kBF16, nn = problem.layout == Layout::kNN;
  const std::string kind = bf16 ? "_bf16" : nn ? "_nn" : "";
  const auto path = FindShippedFile("data/hgemm/catalogue" + kind + ".csv");
  return path.ok() ? path->string() : "";
}

Result<Catalogue> NearbyCatalogue(const std::string& near, const std::string& proposer,
                                  bool is_replay) {
  if (near == "none") return Catalogue();
  if (near.empty()) {
    if (is_replay || !CanBeginWithGiven(proposer)) return Catalogue();
    const std::string shipped = ShippedCatalogueFile({});
    return shipped.empty() ? Catalogue() : ReadCatalogue(shipped);
  }
  if (!CanBeginWithGiven(proposer)) {
    return Error{
        ErrorCode::kUsage,
        "--near is for searches that can begin with given kernels, '" + proposer + "' cannot",
        "choose --proposer guided or brief"};
  }
  return ReadCatalogue(near);
}

namespace {

bool ComesBefore(const KnownPoint& a, const KnownPoint& b) {
  const auto rank = [](const KnownPoint& row) {
    return std::pair(!row.measured_us, row.measured_us.value_or(row.predicted_us));
  };
  return rank(a) < rank(b);
}

}  // namespace

Result<std::vector<KnownPoint>> KnownPoints(search::Machine& machine,
                                            const search::SearchJob& job) {
  store::DatabaseStore* store = TRY(machine.store());
  std::vector<KnownPoint> rows;
  for (const Point& point : job.space.points()) {
    KnownPoint row{point, job.model(point), {}, {}, ""};
    const std::string key =
        MeasurementKey(TRY(job.make(point)), job.task, job.workload, search::SearchProtocol());
    std::optional<Completed> found;
    if (machine.recorded() != nullptr) {
      if (machine.recorded()->Has(key)) found = TRY(machine.recorded()->LookUp(key));
    } else {
      found = TRY(store->FindVerdict(key, machine.info().uuid));
    }
    if (found) {
      row.outcome = OutcomeName(found->verdict.outcome);
      row.ratio = RatioToPrimary(found->verdict, Mode::kDeviceHot);
      if (const ModeTiming* timing = FindTiming(found->verdict, Mode::kDeviceHot)) {
        row.measured_us = timing->candidate.median_us;
      }
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), ComesBefore);
  return rows;
}

namespace {

using nlohmann::json;

// A comparison says which kernel it measured, but for shapes that it leaves to cuBLASLt.
bool IsOfKernel(const ShapeMeasurement& shape, const CatalogueRow& row) {
  if (shape.choice == Name(Choice::kCublasLt)) return true;
  const auto kernel = PointFromName(shape.choice);
  return kernel.ok() && IsSameKernel(*kernel, row.kernel);
}

json TripleOf(double value, const Interval& interval) { return {value, interval.lo, interval.hi}; }

// By mode [ratio, lo, hi]: of kernels alone and of the library, as far as they are known.
void AddRatios(const CatalogueRow& row, json& out) {
  for (const CatalogueResult& result : row.results) {
    if (result.baseline != row.results.front().baseline) continue;
    out["alone"][Name(result.mode)] = TripleOf(result.ratio, result.interval);
  }
}

void AddRatios(const ShapeMeasurement& shape, json& out) {
  for (const ModeComparison& mode : shape.modes) {
    out["alone"][Name(mode.mode)] = TripleOf(mode.kernel.value, mode.kernel.interval);
    out["library"][Name(mode.mode)] = TripleOf(mode.library.value, mode.library.interval);
  }
  out["session"] = shape.session;
}

json RowJson(const CatalogueRow& row) {
  const Problem& problem = row.problem;
  return {{"sizes", {problem.m, problem.n, problem.k}},
          {"chapter", std::string(LayoutText(problem.layout)) + " " +
                          std::string(warpsmith::Name(problem.dtype)) + " on " + row.device},
          {"device", row.device},
          {"class", Name(ClassOf(problem))},
          {"exponent", SizeExponent(problem)},
          {"choice", Name(row.choice)},
          {"family", row.kernel.family},
          {"config", row.kernel.config},
          {"level", row.level},
          {"origin",
           {{"date", row.date},
            {"driver", row.driver},
            {"toolkit", row.toolkit},
            {"library", row.library},
            {"baseline", row.results.empty() ? "" : row.results.front().baseline}}},
          {"alone", json::object()},
          {"library", json::object()}};
}

json OriginJson(const MeasurementSession& session) {
  return {{"date", session.date},
          {"driver", session.driver},
          {"toolkit", session.toolkit},
          {"library", session.baseline},
          {"baseline", kPrimary}};
}

// The rows; of each whether the comparison measured its kernel ("session"), or another one.
json RowsJson(const Catalogue& catalogue, const std::optional<MeasurementTable>& comparison) {
  json rows = json::array();
  for (const CatalogueRow& row : catalogue.rows) {
    json out = RowJson(row);
    if (!comparison) {
      AddRatios(row, out);
    } else if (const ShapeMeasurement* shape = comparison->terms.device == row.device
                                                   ? Find(*comparison, row.problem)
                                                   : nullptr) {
      if (IsOfKernel(*shape, row)) {
        AddRatios(*shape, out);
      } else {
        out["other_kernel"] = true;
      }
    }
    rows.push_back(std::move(out));
  }
  return rows;
}

}  // namespace

Result<std::string> CataloguePage(const Catalogue& catalogue,
                                  const std::optional<MeasurementTable>& comparison,
                                  const std::string& subtitle) {
  if (catalogue.rows.empty()) {
    return Error{ErrorCode::kNothingMeasured, "the catalogue has no rows to draw a page of",
                 "make one with 'warpsmith hgemm catalogue make'"};
  }
  json page = {{"subtitle", subtitle},
               {"compared", comparison.has_value()},
               {"rows", RowsJson(catalogue, comparison)},
               {"sessions", json::array()},
               {"classes", json::array()},
               {"modes", json::array()}};
  for (const SizeClass size_class : kSizeClasses) page["classes"].push_back(Name(size_class));
  for (const Mode mode : kComparedModes) page["modes"].push_back(Name(mode));
  if (comparison) {
    const auto is_compared = [](const json& row) { return row.contains("session"); };
    if (std::none_of(page["rows"].begin(), page["rows"].end(), is_compared)) {
      return Error{ErrorCode::kBadInput,
                   "the comparison measured none of the catalogue's shapes with its kernels (" +
                       comparison->terms.layout + " " + comparison->terms.dtype + " on " +
                       comparison->terms.device + ")",
                   "give the comparison that 'hgemm bench --catalogue' made of this catalogue"};
    }
    for (const auto& session : comparison->sessions) {
      page["sessions"].push_back(OriginJson(session));
    }
  }
  return report::FillPage("HGEMM: which kernels won on which shapes", "catalogue.js", page);
}

}  // namespace warpsmith::hgemm
