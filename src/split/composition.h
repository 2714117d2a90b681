// Do the references of a split's parts, joined, compute what the whole's reference does? Found out
// by running them; nothing is believed.
#ifndef WARPSMITH_SPLIT_COMPOSITION_H_
#define WARPSMITH_SPLIT_COMPOSITION_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "core/task.h"
#include "split/parts.h"
#include "util/result.h"

namespace warpsmith::split {

enum class Author : uint8_t {
  kUser,   // the references are run as they are
  kModel,  // they may hold arithmetic on tensors only (reference_rules.py); else nothing is run
};

struct Proof {
  double worst = 0;  // the largest error as a share of its bound
  std::string output, workload;
  int64_t comparisons = 0;  // of outputs: each workload, twice
};

// On random inputs for every workload, with PyTorch on the CPU: tensors pass between parts in their
// own types, and each output of the whole is held to the judge's bound. kBadInput, in one line,
// where the parts do not compose, or lose too much between them, or where zeros would do; where a
// reference fails. kUnavailable without PyTorch, and after `limit`.
Result<Proof> Prove(const Task& whole, const Split& split, Author author,
                    std::chrono::seconds limit);

}  // namespace warpsmith::split

#endif  // WARPSMITH_SPLIT_COMPOSITION_H_
