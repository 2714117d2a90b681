#include "hgemm/bench/catalogue_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hgemm/comparison_summary.h"
#include "hgemm/family.h"
#include "report/page_template.h"

namespace warpsmith::hgemm {
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
