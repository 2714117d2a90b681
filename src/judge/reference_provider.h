// Seam: who computes the expected outputs of a task whose reference is not built in. It works in a
// process of its own, which never holds a candidate.
#ifndef WARPSMITH_JUDGE_REFERENCE_PROVIDER_H_
#define WARPSMITH_JUDGE_REFERENCE_PROVIDER_H_

#include <cstdint>
#include <string>

#include "base/result.h"

namespace warpsmith::judge {

// Reads and writes the stage that it was made for (reference_stage.h). Returns when the device is
// done. Errors say what failed in the reference, for a person: it is the task's author's.
class ReferenceProvider {
 public:
  virtual ~ReferenceProvider() = default;
  // The expected outputs of the inputs on the stage.
  virtual Status Expect() = 0;
  // New inputs from this seed, and their expected outputs.
  virtual Status Draw(uint64_t seed) = 0;
  // How the newest answer was computed, where that is not the provider's to choose freely:
  // "computed in f32; not in f64: ...".
  virtual std::string About() const { return ""; }
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_REFERENCE_PROVIDER_H_
