// What holds a program back, kernel by kernel: one state each, by rules over bottleneck reports.
//
// One state for a whole program would be too coarse: a technique is chosen for a kernel, and what a
// kernel can win is bounded by its share of the time. States are called like the bottlenecks of
// src/judge/profile (docs/evaluate.md), so that knowledge about them can be looked up and merged.
#ifndef WARPSMITH_AGENT_PROMPTS_STATE_H_
#define WARPSMITH_AGENT_PROMPTS_STATE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/profile/bottleneck.h"

namespace warpsmith::prompts {

// The name where no rule says anything: a profile without numbers, or nothing that stands out.
inline constexpr std::string_view kNoState = "unknown";

struct State {
  size_t report = 0;                  // which of the reports
  std::optional<size_t> kernel;       // its index in that report; nullopt: the report's whole plan
  std::string kernel_name;            // as the profile says: foreign text
  std::string name;                   // a bottleneck's name, or kNoState
  std::string secondary;              // another, or empty
  double share = 0;                   // 0 to 1: of the time of all reports together
  double confidence = 0;              // 0 to 1
  std::vector<std::string> evidence;  // one line each, with the numbers it rests on
  std::vector<std::string> doubts;    // why a model should be asked; empty: the rules are sure
};

// The kernel with the largest share first; then, where rules speak of a whole plan, a state for it.
// The same reports always give the same states.
std::vector<State> ExtractStates(std::span<const profile::BottleneckReport> reports);
std::vector<State> ExtractStates(const profile::BottleneckReport& report);

inline bool IsUnsure(const State& state) { return !state.doubts.empty(); }

// {{states}} of a prompt: a few lines for each state, foreign names as JSON literals.
std::string StatesText(std::span<const State> states);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_STATE_H_
