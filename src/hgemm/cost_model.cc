#include "hgemm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "embedded/hgemm_cost_model.h"
#include "hgemm/features.h"

namespace warpsmith::hgemm {

// Gradient-boosted regression trees: the prediction is the sum of the leaves that the features lead
// to.
class TreeModel {
 public:
  // `known`: the features that this program computes, in their order.
  static Result<TreeModel> From(const JsonReader& root, std::span<const std::string> known);

  // `features`: as many as `known` had.
  double Predict(std::span<const float> features) const;

 private:
  struct Node {
    int32_t feature = -1;  // -1: a leaf
    int32_t left = 0, right = 0;
    double number = 0;  // the threshold of an inner node, the value of a leaf
  };
  // `places`: where each feature that the file names lies among those of this program.
  Status Add(const JsonReader& tree, std::span<const int32_t> places);

  std::vector<Node> nodes_;     // of all trees
  std::vector<int32_t> roots_;  // each tree's first node
};

namespace {

bool Has(const Point& point, std::string_view parameter, int64_t at_least) {
  const auto found = point.config.find(parameter);
  return found != point.config.end() && found->second >= at_least;
}

}  // namespace

Result<CostModel> CostModel::Parse(std::string_view source, std::string_view text) {
  const nlohmann::json document = TRY(ParseJson(source, text));
  const JsonReader root(std::string(source), document);
  auto trees = std::make_shared<const TreeModel>(TRY(TreeModel::From(root, FeatureNames())));
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
  return best_us * std::exp(trees_->Predict(features));
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

namespace {

Error OfAnotherVersion(Error error) {
  error.code = ErrorCode::kVersion;
  return error;
}

// For each name of the file the place of that feature in this program.
Result<std::vector<int32_t>> PlacesOf(const JsonReader& names, std::span<const std::string> known) {
  std::vector<int32_t> places;
  for (const JsonReader& item : TRY(names.Items())) {
    const std::string name = TRY(item.String());
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      return OfAnotherVersion(item.Bad(
          "expected a feature that 'warpsmith hgemm features' names, found '" + name + "'"));
    }
    places.push_back(static_cast<int32_t>(found - known.begin()));
  }
  return places;
}

// One of a tree's arrays. There are tens of thousands of numbers, too many for a reader each.
Result<std::vector<double>> Numbers(const JsonReader& column) {
  if (column.json() == nullptr || !column.json()->is_array()) {
    return column.Bad("expected an array of numbers");
  }
  std::vector<double> numbers;
  for (const nlohmann::json& item : *column.json()) {
    if (!item.is_number()) return column.Bad("expected an array of numbers");
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

// As an index from `lowest` to below `end`.
std::optional<int32_t> IndexIn(double number, size_t lowest, size_t end) {
  if (!(number >= static_cast<double>(lowest)) || !(number < static_cast<double>(end))) {
    return std::nullopt;
  }
  return static_cast<int32_t>(number);
}

}  // namespace

Status TreeModel::Add(const JsonReader& tree, std::span<const int32_t> places) {
  const std::vector<double> features = TRY(Numbers(tree.At("feature")));
  const std::vector<double> thresholds = TRY(Numbers(tree.At("threshold")));
  const std::vector<double> left = TRY(Numbers(tree.At("left")));
  const std::vector<double> right = TRY(Numbers(tree.At("right")));
  const std::vector<double> values = TRY(Numbers(tree.At("value")));
  const size_t size = features.size();
  if (size == 0 || thresholds.size() != size || left.size() != size || right.size() != size ||
      values.size() != size) {
    return tree.Bad("expected five arrays of one length, of at least one node");
  }
  const auto first = static_cast<int32_t>(nodes_.size());
  roots_.push_back(first);
  for (size_t i = 0; i < size; ++i) {
    Node& node = nodes_.emplace_back();
    if (features[i] < 0) {
      node.number = values[i];
      continue;
    }
    // Children come after their parent, so that no path is a circle.
    const auto place = IndexIn(features[i], 0, places.size());
    const auto to_left = IndexIn(left[i], i + 1, size), to_right = IndexIn(right[i], i + 1, size);
    if (!place || !to_left || !to_right) {
      return tree.Bad("node " + std::to_string(i) +
                      ": expected one of \"features\" and two nodes that come later");
    }
    node.feature = places[static_cast<size_t>(*place)];
    node.number = thresholds[i];
    node.left = first + *to_left;
    node.right = first + *to_right;
  }
  return {};
}

Result<TreeModel> TreeModel::From(const JsonReader& root, std::span<const std::string> known) {
  if (TRY(root.At("schema").String()) != "warpsmith.cost-model") {
    return root.At("schema").Bad("expected \"warpsmith.cost-model\"");
  }
  if (TRY(root.At("version").Int()) != 1) {
    return OfAnotherVersion(root.At("version").Bad("expected 1"));
  }
  const std::vector<int32_t> places = TRY(PlacesOf(root.At("features"), known));
  TreeModel model;
  for (const JsonReader& tree : TRY(root.At("trees").Items())) TRY(model.Add(tree, places));
  return model;
}

double TreeModel::Predict(std::span<const float> features) const {
  double sum = 0;
  for (const int32_t root : roots_) {
    const Node* node = &nodes_[static_cast<size_t>(root)];
    while (node->feature >= 0) {
      const bool left = features[static_cast<size_t>(node->feature)] <= node->number;
      node = &nodes_[static_cast<size_t>(left ? node->left : node->right)];
    }
    sum += node->number;
  }
  return sum;
}

}  // namespace warpsmith::hgemm
