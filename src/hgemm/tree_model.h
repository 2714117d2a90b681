// Gradient-boosted regression trees, read as data (written by tools/study/fit_model.py).
#ifndef WARPSMITH_HGEMM_TREE_MODEL_H_
#define WARPSMITH_HGEMM_TREE_MODEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::hgemm {

// The prediction is the sum of the trees' leaves that the features lead to.
class TreeModel {
 public:
  // Reads a model file's object: "schema": "warpsmith.cost-model", "version": 1, "features" (names)
  // and "trees"; other fields say where the model is from. A tree is an object of equally long arrays "feature" (an index
  // into the names, or -1 for a leaf), "threshold", "left", "right" (indices of nodes) and "value".
  // A node goes left where the feature is at most the threshold, and its children come after it.
  // `known`: the features that this program computes, in their order. kBadInput for anything else,
  // kVersion for a version or a feature that this program does not know.
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

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TREE_MODEL_H_
