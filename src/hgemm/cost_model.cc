#include "hgemm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "embedded/hgemm_cost_model.h"
#include "hgemm/features.h"

namespace warpsmith::hgemm {
namespace {

bool Has(const Point& point, std::string_view parameter, int64_t at_least) {
  const auto found = point.config.find(parameter);
  return found != point.config.end() && found->second >= at_least;
}

}  // namespace

Result<CostModel> CostModel::Parse(std::string_view source, std::string_view text) {
  const nlohmann::json document = TRY(ParseJson(source, text));
  const JsonReader root(std::string(source), document);
  TreeModel trees = TRY(TreeModel::From(root, FeatureNames()));
  const JsonReader best = root.At("best_us");
  const BestUs best_us{TRY(best.At("fixed_us").Number()),
                       TRY(best.At("us_per_giga_product").Number()),
                       TRY(best.At("us_per_megabyte").Number())};
  const auto [lowest, highest] =
      std::minmax({best_us.fixed, best_us.per_giga_product, best_us.per_megabyte});
  if (!(lowest >= 0) || !(highest > 0) || !std::isfinite(highest)) {
    return best.Bad("expected three times from 0, not all of them 0");
  }
  return CostModel(std::move(trees), best_us);
}

const CostModel& CostModel::BuiltIn() {
  static const CostModel model = [] {
    const EmbeddedFile& file = embedded::HgemmCostModel().front();
    Result<CostModel> parsed = Parse(file.path, file.contents);
    CHECK(parsed.ok());  // a test reads it
    return *std::move(parsed);
  }();
  return model;
}

double CostModel::PredictUs(const Problem& problem, const Target& target,
                            const Point& point) const {
  const std::vector<float> features = FeaturesOf(problem, target, point);
  if (features.empty()) return std::numeric_limits<double>::infinity();
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n),
             k = static_cast<double>(problem.k);
  const double best_us = best_.fixed + best_.per_giga_product * (m * n * k / 1e9) +
                         best_.per_megabyte * (2 * (m * k + k * n + m * n) / 1e6);
  return best_us * std::exp(trees_.Predict(features));
}

double PredictUs(const Problem& problem, const Target& target, const Point& point) {
  return CostModel::BuiltIn().PredictUs(problem, target, point);
}

std::string ArmOf(const Problem& problem, const Point& point) {
  const std::optional<Workload> work = WorkloadOf(problem, point);
  if (!work) return point.family;
  std::string arm =
      point.family + " " + std::to_string(work->tile_m) + "x" + std::to_string(work->tile_n);
  if (Has(point, "slices", 2)) arm += " sliced";
  if (Has(point, "ping_pong", 1)) arm += " in turns";
  if (Has(point, "direct_load", 1)) arm += " direct";
  return arm;
}

}  // namespace warpsmith::hgemm
