#include "agent/selection.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/display_text.h"

namespace warpsmith::agent {
namespace {

using knowledge::KnowledgeBase;

constexpr double kMinorShare = 0.03;  // of the time: a kernel below is left alone
constexpr std::string_view kFusion = "kernel-fusion";

// Before anything was measured: a model's own idea is worth about what a good technique is. Far
// below the bar, where it may be a rewrite, it is worth half of the way (in logs) to what the bar
// shows to be possible.
knowledge::Prior OwnIdeaPrior(const std::string& state, const Node& node) {
  constexpr double kGoodTechnique = 0.25, kShareOfTheWay = 0.5;
  const double way = node.ratio.has_value() ? -std::log(*node.ratio) : 0;
  const double gain = std::max(kGoodTechnique, kShareOfTheWay * way);
  return {state, std::string(kOwnIdea), gain, gain, 1, 0.6, "our guess before measuring"};
}

Result<std::vector<std::string>> CandidatesFor(KnowledgeBase& base,
                                               const knowledge::Recollection& known) {
  std::vector<std::string> names = knowledge::TechniquesIn(known);
  std::erase(names, kOwnIdea);
  if (names.empty()) {
    for (const knowledge::Technique& one : TRY(base.Techniques())) names.push_back(one.name);
    std::erase(names, kOwnIdea);
  }
  names.emplace_back(kOwnIdea);
  return names;
}

std::string NameOf(const KernelState& kernel) {
  if (!kernel.kernel.has_value()) return "";
  return "kernel " + std::to_string(*kernel.kernel + 1) + " " + QuotedForModel(kernel.kernel_name);
}

// The neighbour in execution order with the larger share.
const KernelState* NeighbourOf(const Node& node, const KernelState& kernel) {
  const KernelState* best = nullptr;
  for (const KernelState& other : node.kernels) {
    if (!kernel.kernel.has_value() || !other.kernel.has_value()) continue;
    const bool is_next = *other.kernel + 1 == *kernel.kernel || *kernel.kernel + 1 == *other.kernel;
    if (is_next && (best == nullptr || other.share > best->share)) best = &other;
  }
  return best;
}

// Where the technique would work: one kernel, or two for a fusion.
TechniqueOption OptionFor(const Node& node, const KernelState& kernel,
                          const std::string& technique) {
  TechniqueOption option;
  option.technique = technique;
  option.state = kernel.state;
  const bool is_only = node.kernels.size() == 1;
  option.target = is_only ? "" : NameOf(kernel);
  option.share = is_only ? 1 : kernel.share;
  if (technique == kOwnIdea) {  // is free to change everything
    option.target = "";
    option.share = 1;
  }
  const KernelState* other = technique == kFusion ? NeighbourOf(node, kernel) : nullptr;
  if (other != nullptr) {
    const size_t first = std::min(*kernel.kernel, *other->kernel) + 1;
    option.target = "kernels " + std::to_string(first) + " and " + std::to_string(first + 1) +
                    ", made into one";
    option.share = std::min(1.0, kernel.share + other->share);
  }
  return option;
}

// A program whose only kernel is known has nothing left to fuse.
bool IsWithoutPartner(const Node& node, const KernelState& kernel, const std::string& technique) {
  return technique == kFusion && kernel.kernel.has_value() && NeighbourOf(node, kernel) == nullptr;
}

bool WasTried(const Node& node, const TechniqueOption& option) {
  // An own idea may be had again: the prompt says what was tried.
  if (option.technique == kOwnIdea) {
    return std::any_of(node.tried.begin(), node.tried.end(), [](const TriedTechnique& one) {
      return one.technique == kOwnIdea && one.result.empty();  // under way
    });
  }
  return std::any_of(node.tried.begin(), node.tried.end(), [&](const TriedTechnique& one) {
    return one.technique == option.technique && one.target == option.target;
  });
}

Status AddOptions(KnowledgeBase& base, const SelectionContext& problem, const Node& node,
                  const KernelState& kernel, Random& random,
                  std::vector<TechniqueOption>& options) {
  const knowledge::Situation situation = SituationOf(problem, node, kernel);
  knowledge::Recollection known = TRY(base.Recall(situation));
  const std::vector<std::string> names = TRY(CandidatesFor(base, known));
  known.priors.push_back(OwnIdeaPrior(kernel.state, node));
  known.blocked.erase(std::string(kOwnIdea));  // another idea is another technique
  const std::vector<knowledge::Belief> beliefs = knowledge::BeliefsIn(situation, known, names);
  for (const knowledge::Choice& choice :
       knowledge::Draw(beliefs, known.blocked, names.size(), random)) {
    if (IsWithoutPartner(node, kernel, choice.technique)) continue;
    TechniqueOption option = OptionFor(node, kernel, choice.technique);
    if (WasTried(node, option)) continue;
    option.expected_gain = choice.expected_value;
    option.sampled_value = WholeLogGain(choice.sampled_value, option.share);
    options.push_back(std::move(option));
  }
  return {};
}

// Two options that would be the same prompt: a fusion seen from both sides, an own idea.
bool Same(const TechniqueOption& a, const TechniqueOption& b) {
  return a.technique == b.technique && a.target == b.target;
}

}  // namespace

std::string_view Name(AttemptKind kind) {
  switch (kind) {
    case AttemptKind::kGiven:
      return "given";
    case AttemptKind::kBootstrap:
      return "bootstrap";
    case AttemptKind::kJoin:
      return "join";
    case AttemptKind::kLowering:
      return "lowering";
    case AttemptKind::kOwnIdea:
      return "own-idea";
    case AttemptKind::kImprove:
      return "improve";
    case AttemptKind::kContrastive:
      return "contrastive";
  }
  std::abort();
}

bool IsFirst(const Attempt& attempt) {
  return attempt.kind == AttemptKind::kGiven || attempt.kind == AttemptKind::kBootstrap ||
         attempt.kind == AttemptKind::kJoin;
}

knowledge::Technique OwnIdea() {
  return {std::string(kOwnIdea), "The model chose by itself what to change.", "warpsmith"};
}

knowledge::Situation SituationOf(const SelectionContext& problem, const Node& node,
                                 const KernelState& kernel) {
  knowledge::Situation situation{kernel.state, problem.context, problem.task};
  situation.context.previous = node.technique;
  if (!node.toolchain.empty()) situation.context.toolchain = node.toolchain;
  return situation;
}

Result<std::vector<TechniqueOption>> Select(KnowledgeBase& base, const SelectionContext& problem,
                                            const Node& node, size_t k, Random& random) {
  std::vector<TechniqueOption> options;
  for (const KernelState& kernel : node.kernels) {
    const bool is_first = &kernel == &node.kernels.front();
    if (!is_first && kernel.share < kMinorShare) continue;
    TRY(AddOptions(base, problem, node, kernel, random, options));
  }
  std::stable_sort(options.begin(), options.end(),
                   [](const TechniqueOption& a, const TechniqueOption& b) {
                     return a.sampled_value > b.sampled_value;
                   });
  std::vector<TechniqueOption> chosen;
  for (TechniqueOption& option : options) {
    if (chosen.size() == k) break;
    const bool is_there =
        std::any_of(chosen.begin(), chosen.end(),
                    [&](const TechniqueOption& one) { return Same(one, option); });
    if (!is_there) chosen.push_back(std::move(option));
  }
  return chosen;
}

}  // namespace warpsmith::agent
