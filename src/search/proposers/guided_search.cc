#include "search/proposers/guided_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>
#include <span>
#include <utility>

#include "base/random.h"

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

// Whether there is a model that tells points apart.
bool IsRanked(const Terrain& terrain) {
  for (int index = 1; index < terrain.size(); ++index) {
    if (terrain.LogPredicted(index) != terrain.LogPredicted(0)) return true;
  }
  return false;
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

namespace {

class GuidedSearch {
 public:
  GuidedSearch(std::shared_ptr<const Terrain> terrain, uint64_t seed, const GuidedOptions& options)
      : terrain_(std::move(terrain)),
        options_(options),
        log_(terrain_->size(), seed, "guided/exploration"),
        random_(seed, "guided"),
        correction_(terrain_),
        best_of_arm_(terrain_->arms(), kFailedScore),
        of_rung_(terrain_->size()) {
    if (!IsRanked(*terrain_)) options_.lead = 0;
    std::vector<double> promise(terrain_->arms(), kFailedScore);
    for (int index = 0; index < terrain_->size(); ++index) {
      double& best = promise[terrain_->Arm(index)];
      best = std::max(best, correction_.Predict(index));
    }
    std::vector<int> arms(terrain_->arms());
    std::iota(arms.begin(), arms.end(), 0);
    random_.Shuffle(arms);  // arms of equal promise start in an order that depends on the seed
    std::stable_sort(arms.begin(), arms.end(),
                     [&](int a, int b) { return promise[a] > promise[b]; });
    if (static_cast<int>(arms.size()) > options_.starting_arms) arms.resize(options_.starting_arms);
    StartRung(std::move(arms));
  }

  std::vector<int> Next(int n) {
    correction_.Fit(log_);
    std::vector<int> batch;
    while (static_cast<int>(batch.size()) < n) {
      const int index = Pick();
      if (index < 0) break;
      batch.push_back(index);
    }
    return batch;
  }

  void Tell(int index, double score) {
    log_.Tell(index, score);
    double& best = best_of_arm_[terrain_->Arm(index)];
    best = std::max(best, score);
    if (of_rung_[index]) --rung_pending_;
  }

 private:
  void StartRung(std::vector<int> arms) {
    alive_ = std::move(arms);
    std::fill(of_rung_.begin(), of_rung_.end(), false);
    // In turns, so that a budget which ends within a rung has not left arms out that stand last.
    for (int round = 0; round < quota_; ++round) {
      wanted_.insert(wanted_.end(), alive_.begin(), alive_.end());
    }
  }

  void Halve() {
    if (alive_.size() <= 2) {
      alive_.clear();
      return;
    }
    std::vector<int> arms = std::move(alive_);
    std::stable_sort(arms.begin(), arms.end(),
                     [this](int a, int b) { return best_of_arm_[a] > best_of_arm_[b]; });
    // Successive halving: the better half goes on, with twice as many points each. An arm of which
    // no point passed does not.
    arms.resize((arms.size() + 1) / 2);
    while (!arms.empty() && best_of_arm_[arms.back()] == kFailedScore) arms.pop_back();
    quota_ = std::min(2 * quota_, options_.largest_quota);
    StartRung(std::move(arms));
  }

  int BestPredicted(const std::vector<int>& candidates) const {
    int best = -1;
    for (const int index : candidates) {
      if (log_.Proposed(index)) continue;
      if (best < 0 || correction_.Predict(index) > correction_.Predict(best)) best = index;
    }
    return best;
  }

  int NextOfRung() {
    while (!alive_.empty()) {
      while (!wanted_.empty()) {
        const int arm = wanted_.front();
        wanted_.pop_front();
        const int index = BestPredicted(terrain_->Members(arm));
        if (index < 0) continue;
        of_rung_[index] = true;
        ++rung_pending_;
        return index;
      }
      // Which arms go on is decided when all points of the rung are known. What is proposed until
      // then is not of a rung.
      if (!IsRungFinished()) return -1;
      Halve();
    }
    return -1;
  }

  // The best measured points, best first.
  std::vector<int> Elite() const {
    std::vector<int> best = log_.told();
    const size_t count = std::min(best.size(), static_cast<size_t>(options_.elite));
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end(),
                      [this](int a, int b) {
                        return std::pair(-log_.Score(a), a) < std::pair(-log_.Score(b), b);
                      });
    best.resize(count);
    std::erase_if(best, [this](int index) { return !(log_.Score(index) > 0); });
    return best;
  }

  // Judged by what its measured neighbour reached and what the model says of the one step between
  // them: whatever the model gets wrong about both alike falls out.
  int BestNeighbour() const {
    int best = -1;
    double best_estimate = kFailedScore;
    for (const int from : Elite()) {
      const double surprise = std::log(log_.Score(from)) - correction_.Predict(from);
      for (const int index : terrain_->Neighbours(from)) {
        const double estimate = correction_.Predict(index) + surprise;
        if (log_.Proposed(index) || (best >= 0 && estimate <= best_estimate)) continue;
        best = index;
        best_estimate = estimate;
      }
    }
    return best;
  }

  int NextToExploit() {
    const bool near = std::exchange(neighbours_turn_, !neighbours_turn_);
    if (near) {
      const int index = BestNeighbour();
      if (index >= 0) return index;
    }
    return BestPredictedAnywhere();
  }

  int BestPredictedAnywhere() const {
    std::vector<int> everywhere(terrain_->size());
    std::iota(everywhere.begin(), everywhere.end(), 0);
    return BestPredicted(everywhere);
  }

  int NextGiven() {
    while (next_first_ < options_.first.size()) {
      const int index = options_.first[next_first_++];
      if (!log_.Proposed(index)) return index;
    }
    return -1;
  }

  // Those that the model likes best and given points, in turn: either may know better.
  int NextAhead() {
    const bool models_turn = std::exchange(models_turn_, !models_turn_);
    if (!models_turn || options_.lead == 0) {
      if (const int given = NextGiven(); given >= 0) return given;
    }
    if (options_.lead == 0) return -1;
    --options_.lead;
    return BestPredictedAnywhere();
  }

  int Pick() {
    if (const int ahead = NextAhead(); ahead >= 0) {
      log_.Propose(ahead);
      return ahead;
    }
    // A share at random: a model that is wrong about a whole region would else never be shown it.
    if (!log_.told().empty() && random_.Uniform() < options_.exploration) {
      return log_.DrawUnproposed();
    }
    int index = NextOfRung();
    if (index < 0) index = NextToExploit();
    if (index >= 0) log_.Propose(index);
    return index;
  }

  bool IsRungFinished() const { return wanted_.empty() && rung_pending_ == 0; }

  std::shared_ptr<const Terrain> terrain_;
  GuidedOptions options_;
  SearchLog log_;
  Random random_;
  Correction correction_;
  std::vector<double> best_of_arm_;
  std::vector<int> alive_;     // arms of this rung; empty once the halving is over
  std::deque<int> wanted_;     // arms that still get a point in this rung, in order
  std::vector<bool> of_rung_;  // by index: proposed as part of the current rung
  int rung_pending_ = 0;       // proposed for this rung and not told yet
  int quota_ = 1;
  bool neighbours_turn_ = true;
  size_t next_first_ = 0;
  bool models_turn_ = true;  // else a given point's
};

}  // namespace

Strategy MakeGuided(std::shared_ptr<const Terrain> terrain, uint64_t seed,
                    const GuidedOptions& options) {
  const auto search = std::make_shared<GuidedSearch>(std::move(terrain), seed, options);
  return {kGuided, [search](int n) { return search->Next(n); },
          [search](int index, double score) { search->Tell(index, score); }};
}

}  // namespace warpsmith::proposers
