// A kernel that was judged and passed: what a rollout stands on.
#ifndef WARPSMITH_AGENT_NODE_H_
#define WARPSMITH_AGENT_NODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/prompts/state.h"
#include "core/reward.h"
#include "core/step.h"
#include "judge/profile/bottleneck.h"

namespace warpsmith::agent {

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

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_NODE_H_
