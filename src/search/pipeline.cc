#include "search/pipeline.h"

#include <utility>

namespace warpsmith::search {
namespace {

constexpr size_t kDepth = 2;

}  // namespace

Pipeline::Pipeline(Proposer& proposer, int batch, OnProposal on_proposal)
    : proposer_(proposer), batch_(batch), on_proposal_(std::move(on_proposal)) {}

Status Pipeline::Refill(int64_t index_limit) {
  while (true) {
    while (!open_.empty() && open_.front() == 0) open_.pop_front();
    if (exhausted_ || open_.size() >= kDepth || proposed_ >= index_limit) return {};
    std::vector<Proposal> generation = TRY(proposer_.Propose(batch_));
    // An empty one keeps its place while steps are open: observing them may bring new ideas.
    exhausted_ = generation.empty() && open_.empty();
    open_.push_back(generation.size());
    proposed_ += static_cast<int64_t>(generation.size());
    for (Proposal& proposal : generation) TRY(on_proposal_(std::move(proposal)));
  }
}

}  // namespace warpsmith::search
