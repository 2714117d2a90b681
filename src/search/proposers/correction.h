// What measurements teach about a cost model's errors.
//
// log(score) = -log(predicted time) + intercept + effect(arm) + sum of effect(parameter value),
// each effect a mean residual pulled towards zero by `kShrinkage` imagined observations without
// error, so that one odd measurement does not condemn an arm. Fitted by back-fitting.
#ifndef WARPSMITH_SEARCH_PROPOSERS_CORRECTION_H_
#define WARPSMITH_SEARCH_PROPOSERS_CORRECTION_H_

#include <memory>
#include <vector>

#include "search/proposers/search_log.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

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

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_CORRECTION_H_
