// When a proposer is asked: in generations, two of them under way.
#ifndef WARPSMITH_SEARCH_PIPELINE_H_
#define WARPSMITH_SEARCH_PIPELINE_H_

#include <cstdint>
#include <deque>
#include <functional>

#include "core/proposer.h"

namespace warpsmith::search {

class Pipeline {
 public:
  // Called with each proposal, in proposal order.
  using OnProposal = std::function<Status(Proposal proposal)>;

  Pipeline(Proposer& proposer, int batch, OnProposal on_proposal);

  // Proposes generation g + 1 if all of g - 1 has been observed. Always whole generations, and none
  // that begins at `index_limit` or after: so a run resumed with a larger budget meets the same
  // proposals. To be called before anything of g is observed.
  Status Refill(int64_t index_limit);
  // The next proposal in order has been observed.
  void PopFront() { --open_.front(); }

  // Everything that was proposed has been observed.
  bool empty() const { return open_.empty(); }
  // The proposer had nothing to say when all it proposed had been observed.
  bool exhausted() const { return exhausted_; }

 private:
  Proposer& proposer_;
  const int batch_;
  const OnProposal on_proposal_;
  // Of each generation under way, how many proposals have not been observed. After Refill, the
  // front one has some.
  std::deque<size_t> open_;
  int64_t proposed_ = 0;
  bool exhausted_ = false;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_PIPELINE_H_
