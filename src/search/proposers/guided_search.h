// Search led by a cost model.
//
// Leading: first come the points that the model likes best, and in turn with them those that
// somebody knows to be good. Spaces recorded whole say that a fitted model needs no more on most
// shapes; what follows is for those where it is wrong.
// Halving: the arms that the model likes best start; each rung spends a quota on every arm that is
// left, on its best-predicted unmeasured points, and the better half of the arms (by best measured
// score) goes on to the next rung with twice the quota. Exploiting: then the unmeasured neighbours
// of the best measured points, and the best-predicted points anywhere, in turn. A small share of
// all proposals is random, since the model can be wrong about an arm that it never let start.
// Predictions are corrected by what was measured (Correction, below) before every batch.
#ifndef WARPSMITH_SEARCH_PROPOSERS_GUIDED_SEARCH_H_
#define WARPSMITH_SEARCH_PROPOSERS_GUIDED_SEARCH_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "search/proposers/strategy.h"

namespace warpsmith::proposers {

// What measurements teach about a cost model's errors.
//
// log(score) = -log(predicted time) + intercept + effect(arm) + sum of effect(parameter value),
// each effect a mean residual pulled towards zero by `kShrinkage` imagined observations without
// error, so that one odd measurement does not condemn an arm. Fitted by back-fitting.
class Correction {
 public:
  explicit Correction(std::shared_ptr<const Terrain> terrain);

  // Learns from everything told so far; scores that are not positive teach nothing.
  void Fit(const SearchLog& log);

  // Predicted log score, comparable between points of one terrain.
  double Predict(int index) const { return predicted_[index]; }

 private:
  void Sweep(const std::vector<int>& points, std::vector<double>& residual);
  void PredictAll();

  std::shared_ptr<const Terrain> terrain_;
  double intercept_ = 0;
  std::vector<double> arm_effect_, level_effect_;
  std::vector<double> predicted_;
};

struct GuidedOptions {
  int lead = 24;  // points that the model likes best, whatever their arms, before any rung
  int starting_arms = 16;
  int largest_quota = 4;        // points an arm gets in one rung
  int elite = 4;                // measured points whose neighbours are looked at
  double exploration = 0.06;    // share of random proposals
  std::vector<int> first = {};  // known to be good, the best first
};

inline constexpr std::string_view kGuided = "guided";
Strategy MakeGuided(std::shared_ptr<const Terrain> terrain, uint64_t seed,
                    const GuidedOptions& options = {});

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_GUIDED_SEARCH_H_
