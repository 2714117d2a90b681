// How the agent works: its roles, what a user may choose, and what an ablation switches off.
#ifndef WARPSMITH_AGENT_SETTINGS_H_
#define WARPSMITH_AGENT_SETTINGS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/chat_model.h"
#include "core/reward.h"
#include "core/task.h"

namespace warpsmith::agent::role {

// --- Who asks a model (ChatRequest::role): each role may have a model of its own.

inline constexpr std::string_view kBootstrap = "bootstrap";  // a first kernel
inline constexpr std::string_view kLowering = "lowering";    // a technique, or an idea, as code
inline constexpr std::string_view kRepair = "repair";
inline constexpr std::string_view kState = "state";    // what holds a kernel back
inline constexpr std::string_view kReview = "review";  // why a step gained what it did
inline constexpr std::string_view kDoubts = "doubts";  // is a kernel honest?
inline constexpr std::array<std::string_view, 6> kAll = {kBootstrap, kLowering, kRepair,
                                                         kState,     kReview,   kDoubts};

}  // namespace warpsmith::agent::role

namespace warpsmith::agent {

enum class Style : uint8_t {
  kMaic,         // state -> technique from the knowledge base -> code
  kMinimal,      // code and profile -> code (the paper's minimal agent)
  kContrastive,  // variants with their scores -> a better one (CUDA-L1's prompts)
};
std::string_view Name(Style style);

enum class MemoryUse : uint8_t {
  kKept,  // the base is read, and learns from every step
  kNone,  // only the names and descriptions of techniques are known, before and after
};
enum class Profiles : uint8_t {
  kFull,
  kTimesOnly,  // elapsed time and cycles of each kernel (the paper's "cycles only")
};

struct Settings {
  Style style = Style::kMaic;
  MemoryUse memory = MemoryUse::kKept;
  Profiles profiles = Profiles::kFull;
  Form form = Form::kKernel;           // of what is written from the reference
  RewardShape reward = kSearchReward;  // what kernels are chosen by
  int breadth = 4;                     // rollouts side by side
  int depth = 6;    // steps of a rollout, then it begins anew from one of the best
  int top_k = 1;    // techniques tried at each step of a rollout
  int repairs = 2;  // of one attempt
  int bootstrap_repairs = 4;
  bool asks_states = true;   // a model, where the rules are unsure: a round of questions more
  bool asks_reviews = true;  // why a step gained what it did, and a note
  bool asks_doubts = true;   // soft verification
  size_t knowledge_bytes = 12'000;  // of the base in one prompt
  ChatSampling sampling;
};

// The best kernel of a part of the task (docs/agent.md), for the first kernel to be joined from.
struct PartKernel {
  std::string name;
  std::string facts;  // what it computes, and how its tensors join into the whole
  Candidate candidate;
};

// What a run begins with. It must be the same whenever the run goes on, and a replay takes it from
// its recording.
struct RunConfig {
  Settings settings;
  uint64_t seed = 1;
  int batch = 1;                       // proposals a generation
  std::optional<Candidate> start;      // the kernel to make faster; none: it is written first
  std::vector<PartKernel> parts = {};  // to write it from; none: from the reference
};
// The memo that keeps it.
inline constexpr const char* kBeginKey = "begin";
// JSON; equal for beginnings that propose the same. Names the prompts' versions, too.
std::string TextOf(const RunConfig& run_config);
Result<RunConfig> RunConfigFrom(const std::string& source, const std::string& text);

// The form to write where there is no kernel to begin with: the first that the task takes.
Form FormFor(const Task& task);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_SETTINGS_H_
