// Which HGEMM configurations are likely to be fast: good enough to say where to measure first,
// never a result. Regression trees over the features below, fitted to measurements by
// tools/study/fit_model.py; the model of an H200 is built into the program.
#ifndef WARPSMITH_HGEMM_COST_MODEL_H_
#define WARPSMITH_HGEMM_COST_MODEL_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hgemm/family.h"

namespace warpsmith::hgemm {

// --- What a cost model is told of a configuration: numbers that follow from the problem, the
// device and the point, none of which was fitted. The program that fits models reads them from
// `warpsmith hgemm features`, so they are defined here alone.

// The names of what FeaturesOf returns, in its order: what is derived, then every parameter that
// any family has.
std::span<const std::string> FeatureNames();

// A parameter that the point's family does not have is -1. Empty for a family that this program
// does not know. Values are floats, so that whoever reads them as text reads what a model compares.
std::vector<float> FeaturesOf(const Problem& problem, const Target& target, const Point& point);

class TreeModel;  // cost_model.cc

class CostModel {
 public:
  // Reads a model file, a JSON object: "schema": "warpsmith.cost-model", "version": 1, "features"
  // (names), "trees", and "best_us", three numbers that are not negative and not all 0; other fields
  // say where the model is from. A tree is an object of equally long arrays "feature" (an index into
  // the names, or -1 for a leaf), "threshold", "left", "right" (indices of nodes) and "value". A node
  // goes left where the feature is at most the threshold, and its children come after it. kBadInput
  // for anything else, kVersion for a version or a feature that this program does not know.
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
  CostModel(std::shared_ptr<const TreeModel> trees, BestUs best)
      : trees_(std::move(trees)), best_(best) {}
  std::shared_ptr<const TreeModel> trees_;
  BestUs best_;
};

// What the built-in model predicts.
double PredictUs(const Problem& problem, const Target& target, const Point& point);

// "wgmma 128x256", "wgmma 64x64 sliced": configurations of one family, CTA tile and way of working
// are fast or slow together.
std::string ArmOf(const Problem& problem, const Point& point);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COST_MODEL_H_
