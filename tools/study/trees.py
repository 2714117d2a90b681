"""Gradient-boosted trees over HGEMM kernels: fitting them, and the arrays that they are stored as.

What is predicted is the natural logarithm of how many times as long a kernel takes as the best one
known of its problem, so 0 is the best. Only the order within one problem matters to a search.
"""

from __future__ import annotations

import lightgbm
import numpy
import scipy.optimize

ROUNDS = 300  # trees
CAP = 0.7  # no kernel twice as slow as the best needs to be told from one that is slower yet
NEAR_BEST = 0.15  # logarithm; weights fall by e over this, down to LEAST_WEIGHT
LEAST_WEIGHT = 0.05
DIGITS = 5  # of values and thresholds in a model file

PARAMETERS = {
    "objective": "regression",
    "num_leaves": 47,
    "learning_rate": 0.08,
    "min_data_in_leaf": 20,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 127,
    "use_missing": False,
    "seed": 1,
    "deterministic": True,
    "num_threads": 1,  # more of them give other sums
    "verbose": -1,
}


def slowdowns(shapes: list[str], ratios: numpy.ndarray) -> numpy.ndarray:
    """Logarithms of times over the best known of the same shape; ratios are above 0."""
    best: dict[str, float] = {}
    for shape, ratio in zip(shapes, ratios):
        best[shape] = max(best.get(shape, 0.0), ratio)
    return numpy.log(numpy.array([best[shape] for shape in shapes]) / ratios)


def fit_best_us(sizes: numpy.ndarray, us: numpy.ndarray) -> dict[str, float]:
    """What the best kernels take: a fixed time, and so much a product and a byte, none below 0.

    `sizes`: M, N and K a line; `us`: the best time of each. Relative errors count.
    """
    m, n, k = sizes.T.astype(float)
    megabytes = 2 * (m * k + k * n + m * n) / 1e6
    terms = numpy.column_stack([numpy.ones(len(us)), m * n * k / 1e9, megabytes])
    found, _ = scipy.optimize.nnls(terms / us[:, None], numpy.ones(len(us)))
    names = ("fixed_us", "us_per_giga_product", "us_per_megabyte")
    return {name: rounded(value) for name, value in zip(names, found)}


def rounded(value: float) -> float:
    """With as many digits as a model file keeps."""
    return float(f"{value:.{DIGITS}g}")


def arrays_of(root: dict) -> dict[str, list]:
    """One tree as arrays. A node goes left where feature <= threshold; a leaf's feature is -1."""
    tree: dict[str, list] = {"feature": [], "threshold": [], "left": [], "right": [], "value": []}

    def add(node: dict) -> int:
        index = len(tree["feature"])
        is_leaf = "leaf_value" in node
        tree["feature"].append(-1 if is_leaf else node["split_feature"])
        tree["threshold"].append(0 if is_leaf else rounded(node["threshold"]))
        tree["value"].append(rounded(node["leaf_value"]) if is_leaf else 0)
        tree["left"].append(0)
        tree["right"].append(0)
        if not is_leaf:
            tree["left"][index] = add(node["left_child"])
            tree["right"][index] = add(node["right_child"])
        return index

    add(root)
    return tree


def fit(features: numpy.ndarray, slowdown: numpy.ndarray) -> list[dict[str, list]]:
    """The trees whose values, added up, predict `slowdown`."""
    weight = numpy.exp(-slowdown / NEAR_BEST) + LEAST_WEIGHT
    data = lightgbm.Dataset(features, numpy.minimum(slowdown, CAP), weight=weight)
    booster = lightgbm.train(PARAMETERS, data, ROUNDS)
    # The mean of the target is part of the first tree's leaves.
    return [arrays_of(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]


def predict(trees: list[dict[str, list]], features: numpy.ndarray) -> numpy.ndarray:
    """What the program computes from the same trees and features."""
    total = numpy.zeros(len(features))
    rows = numpy.arange(len(features))
    for tree in trees:
        feature, left, right = (numpy.array(tree[key]) for key in ("feature", "left", "right"))
        threshold, value = numpy.array(tree["threshold"], float), numpy.array(tree["value"], float)
        node = numpy.zeros(len(features), int)
        while (inner := feature[node] >= 0).any():
            goes_left = features[rows, feature[node]] <= threshold[node]
            node = numpy.where(inner, numpy.where(goes_left, left[node], right[node]), node)
        total += value[node]
    return total
