// Which HGEMM configurations are likely to be fast: good enough to say where to measure first,
// never a result. Regression trees over features.h, fitted to measurements by
// tools/study/fit_model.py; the model of an H200 is built into the program.
#ifndef WARPSMITH_HGEMM_COST_MODEL_H_
#define WARPSMITH_HGEMM_COST_MODEL_H_

#include <string>
#include <string_view>
#include <utility>

#include "hgemm/family.h"
#include "hgemm/tree_model.h"

namespace warpsmith::hgemm {

class CostModel {
 public:
  // Reads a model file: what TreeModel::Parse reads, and "best_us", three numbers that are not
  // negative and not all 0. kBadInput or kVersion for anything else.
  static Result<CostModel> Parse(std::string_view source, std::string_view text);
  // The model that the program carries, data/hgemm/model_h200.json.
  static const CostModel& BuiltIn();

  // Microseconds in a CUDA graph with a hot L2: what the best kernel of such sizes takes, times how
  // much slower the trees expect this one to be. Always positive, infinite for a family that this
  // program does not know. The order and the ratios within one problem are what it is good for.
  double PredictUs(const Problem& problem, const Target& target, const Point& point) const;

 private:
  // Of the best kernel, in the terms of "best_us" in the model file.
  struct BestUs {
    double fixed = 0, per_giga_product = 0, per_megabyte = 0;
  };
  CostModel(TreeModel trees, BestUs best) : trees_(std::move(trees)), best_(best) {}
  TreeModel trees_;
  BestUs best_;
};

// What the built-in model predicts.
double PredictUs(const Problem& problem, const Target& target, const Point& point);

// "wgmma 128x256", "wgmma 64x64 sliced": configurations of one family, CTA tile and way of working
// are fast or slow together.
std::string ArmOf(const Problem& problem, const Point& point);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COST_MODEL_H_
