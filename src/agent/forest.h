// The kernels that passed, and the rollouts that stand on them: where each goes next, what it
// tries. Nothing here asks or measures; the same calls give the same state.
#ifndef WARPSMITH_AGENT_FOREST_H_
#define WARPSMITH_AGENT_FOREST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "agent/prompts/state.h"
#include "agent/settings.h"
#include "base/random.h"
#include "core/candidate.h"
#include "core/chat_model.h"
#include "core/reward.h"
#include "core/step.h"
#include "judge/profile/bottleneck.h"

namespace warpsmith::agent {

// --- A kernel that was judged and passed: what a rollout stands on.

// One kernel's state by the name that the knowledge base has for it.
struct KernelState {
  std::string state;             // of the base: "memory-latency/small-grid"
  std::optional<size_t> kernel;  // in the profile; nullopt: the whole program
  std::string kernel_name;       // foreign text
  double share = 1;              // of the time
};

// What became of an attempt to make a node better.
struct TriedTechnique {
  std::string technique;
  std::string target;  // "kernel 1", or empty
  std::string result;  // "1.08x", "incorrect"
};

struct Node {
  int64_t step = 0;
  Candidate candidate;
  std::string id;  // CandidateId
  int parent = -1;
  std::string technique;        // that led here; empty: where the run began
  double score = 0;             // ln of the ratio to the bar, else of 1 / time: more is better
  double worth = 0;             // what it is chosen by: the score, or the run's reward (--reward)
  std::optional<double> ratio;  // to the bar
  Interval interval;            // of the ratio
  double time_us = 0;
  std::string toolchain;  // "nvrtc 13.0"
  // Once looked at; without a profile the report is empty and the states are one 'unknown'.
  bool looked_at = false;
  profile::BottleneckReport report;
  std::vector<prompts::State> states;
  std::vector<KernelState> kernels;   // the largest share first
  std::vector<TriedTechnique> tried;  // in order
  bool states_asked = false, doubts_asked = false, vetoed = false;
  std::vector<std::string> doubts;
};

// What a passed verdict says, with numbers as a recording keeps them, so that a replay computes
// the same from them. Nullopt for any other verdict, and for one without times.
std::optional<Node> NodeOf(const Step& step, Mode mode, const RewardShape& reward = kSearchReward);

// ln(time before / time after) of the whole program.
inline double LogGain(const Node& before, const Node& after) { return after.score - before.score; }

// What a gain on a part of the time is on the whole of it, and back (Amdahl). `share` in (0, 1].
// A gain of the whole that the part could not give by vanishing was made elsewhere (an allocation,
// a wait of the host): it is counted as it was measured. A loss is at most a factor of 50.
double WholeLogGain(double part_log_gain, double share);
double PartLogGain(double whole_log_gain, double share);

// --- Which kernel to work on and by which technique, chosen together: a gain on a kernel is worth
// what it is of the whole time.

// The pseudo-technique of letting the model choose. It competes like any other, so how often it is
// taken follows what came of it.
inline constexpr std::string_view kOwnIdea = "own-idea";
knowledge::Technique OwnIdea();

struct TechniqueOption {
  std::string technique;
  std::string state;
  std::string target;        // "kernel 2 \"name\"", "kernels 1 and 2"; empty: the whole program
  double share = 1;          // of the time that the technique can change
  double expected_gain = 0;  // log gain on that share, as believed
  double sampled_value = 0;  // log gain of the whole, as drawn
};

// What everything is chosen for.
struct SelectionContext {
  knowledge::Context context;  // `previous` is the node's own
  std::string task;            // content id
};

knowledge::Situation SituationOf(const SelectionContext& problem, const Node& node,
                                 const KernelState& kernel);

// Up to k options for the node, the best draw first: techniques that the base connects with a
// kernel's state (all it has, where none is), fusion only where there are several kernels, and the
// own idea. Nothing that was tried on the node for the same kernels, or that hung, crashed
// or was wrong for this task in this state.
Result<std::vector<TechniqueOption>> Select(knowledge::KnowledgeBase& base,
                                            const SelectionContext& problem, const Node& node,
                                            size_t k, Random& random);

// One attempt at a better kernel, with its repairs; and a rollout, which makes one after another.
enum class AttemptKind : uint8_t {
  kGiven,        // the kernel that the run begins with; nobody is asked
  kBootstrap,    // a first kernel from the reference
  kJoin,         // a first kernel from those of the task's parts
  kLowering,     // a technique becomes code
  kOwnIdea,      // the model chooses
  kImprove,      // the minimal agent
  kContrastive,  // from variants with their scores
};
std::string_view Name(AttemptKind kind);

struct Attempt {
  AttemptKind kind = AttemptKind::kLowering;
  int rollout = 0;
  int node = -1;                       // what it changes; -1: there is nothing yet
  TechniqueOption option;              // its technique is the one that the model named, once it did
  std::string description;             // of the technique, in the model's words
  size_t tried = 0;                    // its entry in the node's list
  int number = 1;                      // of the attempts that would have the same prompt
  int failures = 0;                    // so far
  std::optional<ChatRequest> request;  // what is asked next, but for the complaint
  // The last candidate that failed, to be repaired, and why.
  std::optional<Candidate> failed;
  std::string failure, log;
  std::optional<knowledge::Failure> failure_kind;  // nullopt: it says nothing of the technique
  // The last reply held no candidate, in one line: the same is asked again with this.
  std::string complaint;
};
// Is it at a first kernel, with nothing before it to be better than?
bool IsFirst(const Attempt& attempt);

struct Rollout {
  int node = -1;      // where it stands
  int depth = 0;      // steps made since it began
  int64_t begun = 0;  // how often it has
  std::vector<Attempt> open;
  std::vector<int> children;  // nodes that this step's attempts led to
};

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
