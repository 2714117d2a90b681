#include "search/pipeline.h"

#include <utility>

namespace warpsmith::search {
namespace {

constexpr size_t kDepth = 2;

}  // namespace

Pipeline::Pipeline(Proposer& proposer, int batch, KeyFunction key_of)
    : proposer_(proposer), batch_(batch), key_of_(std::move(key_of)) {}

Status Pipeline::Refill(int64_t index_limit) {
  while (true) {
    while (!generations_.empty() && generations_.front().empty()) generations_.pop_front();
    if (exhausted_ || generations_.size() >= kDepth || proposed_ >= index_limit) return {};
    Generation next = TRY(Next());
    // An empty one keeps its place while steps are open: observing them may bring new ideas.
    exhausted_ = next.empty() && generations_.empty();
    generations_.push_back(std::move(next));
  }
}

Status Pipeline::ForEach(const std::function<Result<bool>(Item&)>& visit) {
  for (Generation& generation : generations_) {
    for (Item& item : generation) {
      if (!TRY(visit(item))) return {};
    }
  }
  return {};
}

Result<Pipeline::Generation> Pipeline::Next() {
  Generation generation;
  for (Proposal& proposal : TRY(proposer_.Propose(batch_))) {
    std::string key = key_of_(proposal.candidate);
    generation.push_back({proposed_++, std::move(proposal), std::move(key), std::nullopt});
  }
  return generation;
}

}  // namespace warpsmith::search
