// How a recorded run of the agent ended. A replay ends there, too: no recording tells how much time
// or money was left, so it would otherwise ask what was never asked.
#ifndef WARPSMITH_AGENT_RUNS_RECORDED_END_H_
#define WARPSMITH_AGENT_RUNS_RECORDED_END_H_

#include <cstdint>
#include <optional>
#include <string>

#include "agent/token_budget.h"
#include "base/result.h"

namespace warpsmith::agent {

struct RecordedEnd {
  int64_t evaluations = 0;  // of its budget
  std::string limit;        // that ended it; empty: nothing was left to try
  std::optional<agent::TokenBudgetEnd> token_budget;  // where tokens or money ran out
};

// The memo that keeps it, written when a run is recorded. Recordings made before there was one hold
// runs that `evals` ended.
inline constexpr const char* kEndKey = "end";
// JSON; equal for equal ends.
std::string TextOf(const RecordedEnd& end);
Result<RecordedEnd> RecordedEndFrom(const std::string& source, const std::string& text);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_RECORDED_END_H_
