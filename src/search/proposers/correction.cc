#include "search/proposers/correction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace warpsmith::proposers {
namespace {

constexpr double kShrinkage = 2;
constexpr int kSweeps = 3;

// Moves one group of effects to the shrunken mean of what the others leave unexplained.
// `groups(point)` gives the effects a point belongs to.
template <typename Groups>
void Refit(const std::vector<int>& points, const Groups& groups, std::vector<double>& effects,
           std::vector<double>& residual) {
  std::vector<double> sum(effects.size()), count(effects.size());
  for (size_t i = 0; i < points.size(); ++i) {
    for (const int group : groups(points[i])) {
      sum[group] += residual[i] + effects[group];
      count[group] += 1;
    }
  }
  for (size_t group = 0; group < effects.size(); ++group) {
    sum[group] = count[group] > 0 ? sum[group] / (count[group] + kShrinkage) : effects[group];
  }
  for (size_t i = 0; i < points.size(); ++i) {
    for (const int group : groups(points[i])) residual[i] += effects[group] - sum[group];
  }
  effects = std::move(sum);
}

}  // namespace

Correction::Correction(std::shared_ptr<const Terrain> terrain)
    : terrain_(std::move(terrain)),
      arm_effect_(terrain_->arms()),
      level_effect_(terrain_->levels()),
      predicted_(terrain_->size()) {
  PredictAll();
}

void Correction::Fit(const SearchLog& log) {
  std::vector<int> points;
  std::vector<double> residual;
  for (const int index : log.told()) {
    const double known = terrain_->LogPredicted(index);
    if (!(log.Score(index) > 0) || !std::isfinite(known)) continue;
    points.push_back(index);
    residual.push_back(std::log(log.Score(index)) + known);
  }
  if (points.empty()) return;
  intercept_ = 0;
  for (const double r : residual) intercept_ += r / static_cast<double>(residual.size());
  for (double& r : residual) r -= intercept_;
  arm_effect_.assign(arm_effect_.size(), 0);
  level_effect_.assign(level_effect_.size(), 0);
  for (int sweep = 0; sweep < kSweeps; ++sweep) Sweep(points, residual);
  PredictAll();
}

// The arms, then one parameter after the other: a point's k-th level is its k-th parameter's value.
void Correction::Sweep(const std::vector<int>& points, std::vector<double>& residual) {
  Refit(
      points, [&](int index) { return std::array{terrain_->Arm(index)}; }, arm_effect_, residual);
  size_t parameters = 0;
  for (const int index : points) parameters = std::max(parameters, terrain_->Levels(index).size());
  for (size_t k = 0; k < parameters; ++k) {
    const auto kth_level = [&](int index) {
      const std::span<const int> levels = terrain_->Levels(index);
      return k < levels.size() ? levels.subspan(k, 1) : levels.first(0);
    };
    Refit(points, kth_level, level_effect_, residual);
  }
}

void Correction::PredictAll() {
  for (int index = 0; index < terrain_->size(); ++index) {
    double value = intercept_ - terrain_->LogPredicted(index) + arm_effect_[terrain_->Arm(index)];
    for (const int level : terrain_->Levels(index)) value += level_effect_[level];
    predicted_[index] = value;
  }
}

}  // namespace warpsmith::proposers
