// Seam: where candidates come from.
#ifndef WARPSMITH_CORE_PROPOSER_H_
#define WARPSMITH_CORE_PROPOSER_H_

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/step.h"
#include "core/verdict.h"

namespace warpsmith {

struct Proposal {
  Candidate candidate;
  Cost cost;  // of thinking of it: tokens and money. Part of its step's cost
  // A text that never became a candidate (a model's reply without code): its step is committed with
  // this verdict, and nothing is compiled or judged.
  std::optional<Rejected> refusal;
};

// Must be a deterministic function of its construction (seed included) and of the steps it
// observed: a run is resumed by proposing again and observing the stored steps.
class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view Name() const = 0;  // "guided": part of what a run is known by
  // At most `n` candidates that have not been proposed before; none: nothing left to try, or
  // nothing before more is observed.
  virtual Result<std::vector<Proposal>> Propose(int n) = 0;
  // Called once for every proposed candidate, in proposal order.
  virtual void Observe(const Step& step) = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_PROPOSER_H_
