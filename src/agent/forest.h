// The kernels that passed, and the rollouts that stand on them: where each goes next, what it
// tries. Nothing here asks or measures; the same calls give the same state.
#ifndef WARPSMITH_AGENT_FOREST_H_
#define WARPSMITH_AGENT_FOREST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "agent/node.h"
#include "agent/selection.h"
#include "agent/settings.h"

namespace warpsmith::agent {

class Forest {
 public:
  // `has_parts`: the first kernel is joined from those of the task's parts.
  Forest(const Settings& settings, SelectionContext problem, uint64_t seed,
         const std::optional<Candidate>& start, bool has_parts = false);

  // A kernel that an attempt of this rollout led to (its index).
  int Add(Node node, int rollout);
  // What the attempt on its node came to ("1.08x", "incorrect").
  void Note(const Attempt& attempt, const std::string& result);

  // Rollouts without open attempts go on: to the best of the step's kernels if it is no worse, or,
  // after their depth or where the run's best leaves them behind, anew from one of the best.
  void Advance();
  // Gives every rollout without open attempts its next ones, if there are any. A first kernel that
  // failed for good is begun again, in other words.
  Status MakeAttempts(knowledge::KnowledgeBase& base, int64_t round);
  // A closed attempt leaves.
  void Close(int rollout, size_t attempt);

  std::vector<Rollout>& rollouts() { return rollouts_; }
  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  Node& node(int index) { return nodes_.at(static_cast<size_t>(index)); }
  const Node& node(int index) const { return nodes_.at(static_cast<size_t>(index)); }
  const SelectionContext& problem() const { return problem_; }

  // Of those that no verification vetoed, the best first.
  std::vector<int> BestFirst() const;
  // From the first kernel to this one.
  std::vector<int> PathTo(int node) const;
  // For a prompt: the techniques that led here with their scores, and what was tried on this one.
  std::string HistoryOf(int node) const;
  // "unknown > kernel-fusion > memory-bandwidth": states and techniques on the way to the best.
  std::string StatePath() const;
  // For a contrastive prompt: at most `most`, from distinct buckets of scores, a bucket chosen with
  // P proportional to exp((mean score - mean) / tau) (CUDA-L1, section 3.3); the best first.
  std::vector<int> Exemplars(int64_t round, int rollout, size_t most) const;

 private:
  int NearestUnvetoed(int node) const;  // the nearest on its way that is not vetoed
  bool FallsBehind(const Rollout& rollout) const;
  int BeginAt(const Rollout& rollout, size_t index) const;
  int BestOf(const std::vector<int>& indices) const;  // not vetoed; -1: none
  void MakeFirst();
  Result<std::vector<TechniqueOption>> OptionsFor(knowledge::KnowledgeBase& base, int64_t round,
                                                  size_t rollout) const;
  Status MakeNext(knowledge::KnowledgeBase& base, int64_t round, size_t rollout);

  const Settings& settings_;
  const SelectionContext problem_;
  const uint64_t seed_;
  const std::optional<Candidate> start_;
  const bool has_parts_;
  std::vector<Node> nodes_;
  std::vector<Rollout> rollouts_;
  int first_versions_ = 0;  // of the first kernel
  int variants_ = 0;        // contrastive prompts so far
  bool given_tried_ = false;
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_FOREST_H_
