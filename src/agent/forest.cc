#include "agent/forest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/core.h>

#include "agent/knowledge/render.h"
#include "agent/prompts/prompt_values.h"
#include "base/display_text.h"
#include "store/verdict_parts.h"

namespace warpsmith::agent {
namespace {

// The part cannot have become faster than this, nor slower than its inverse: beyond it the share
// was wrong.
constexpr double kSmallestPart = 0.02;

// The reward, of numbers as a recording keeps them.
double WorthOf(const Step& step, const RewardShape& shape) {
  RewardFacts facts = RewardFactsOf(step.candidate, step.verdict);
  facts.deviation = store::Rounded(facts.deviation);
  if (facts.mean_ratio) facts.mean_ratio = store::Rounded(*facts.mean_ratio);
  facts.interval = {store::Rounded(facts.interval.lo), store::Rounded(facts.interval.hi)};
  for (Interval& one : facts.each) one = {store::Rounded(one.lo), store::Rounded(one.hi)};
  return ShapeReward(facts, shape).value.value_or(0);
}

}  // namespace

std::optional<Node> NodeOf(const Step& step, Mode mode, const RewardShape& reward) {
  if (!std::holds_alternative<Passed>(step.verdict.outcome)) return std::nullopt;
  const ModeTiming* timing = FindComparison(step.verdict, mode);
  if (timing == nullptr) timing = FindTiming(step.verdict, mode);
  if (timing == nullptr || !(timing->candidate.median_us > 0)) return std::nullopt;
  Node node;
  node.step = step.index;
  node.candidate = step.candidate;
  node.id = CandidateId(step.candidate);
  node.technique = step.candidate.provenance.technique;
  node.toolchain = step.verdict.evidence.toolchain;
  node.time_us = store::Rounded(timing->candidate.median_us);
  node.score = -std::log(node.time_us);
  if (!timing->comparisons.empty() && timing->comparisons.front().ratio > 0) {
    const Comparison& primary = timing->comparisons.front();
    node.ratio = store::Rounded(primary.ratio);
    node.interval = {store::Rounded(primary.interval.lo), store::Rounded(primary.interval.hi)};
    node.score = std::log(*node.ratio);
  }
  node.worth = reward == kSearchReward ? node.score : WorthOf(step, reward);
  return node;
}

double WholeLogGain(double part_log_gain, double share) {
  return -std::log((1 - share) + share * std::exp(-part_log_gain));
}

double PartLogGain(double whole_log_gain, double share) {
  const double part = (std::exp(-whole_log_gain) - (1 - share)) / share;
  if (part < kSmallestPart) return whole_log_gain;
  return -std::log(std::min(part, 1 / kSmallestPart));
}

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
  constexpr std::array<std::string_view, 7> kNames = {
      "given", "bootstrap", "join", "lowering", "own-idea", "improve", "contrastive"};
  return kNames.at(static_cast<size_t>(kind));
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

namespace {

constexpr double kNoWorse = -0.02;         // log gain that still lets a rollout go on
constexpr double kLeftBehind = 0.7;        // log gain of the run's best over where one stands: 2x
constexpr double kBeginTemperature = 0.1;  // of the choice where to begin anew, in log ratio
constexpr int kFirstVersions = 3;          // of a first kernel, each with its repairs

std::string ScoreText(const Node& node) {
  if (node.ratio.has_value()) return knowledge::RatioText(*node.ratio);
  return fmt::format("{:.3g} us", node.time_us);
}

AttemptKind KindOf(const TechniqueOption& option, Style style) {
  if (style == Style::kMinimal) return AttemptKind::kImprove;
  if (style == Style::kContrastive) return AttemptKind::kContrastive;
  return option.technique == kOwnIdea ? AttemptKind::kOwnIdea : AttemptKind::kLowering;
}

}  // namespace

Forest::Forest(const Settings& settings, SelectionContext problem, uint64_t seed,
               const std::optional<Candidate>& start, bool has_parts)
    : settings_(settings),
      problem_(std::move(problem)),
      seed_(seed),
      start_(start),
      has_parts_(has_parts),
      rollouts_(static_cast<size_t>(std::max(settings.breadth, 1))) {}

int Forest::Add(Node node, int rollout) {
  const int index = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(node));
  rollouts_.at(static_cast<size_t>(rollout)).children.push_back(index);
  return index;
}

void Forest::Note(const Attempt& attempt, const std::string& result) {
  if (attempt.node < 0) return;
  TriedTechnique& tried = node(attempt.node).tried.at(attempt.tried);
  tried.technique = attempt.option.technique;  // an own idea has a name by now
  tried.result = result;
}

void Forest::Close(int rollout, size_t attempt) {
  std::vector<Attempt>& open = rollouts_.at(static_cast<size_t>(rollout)).open;
  open.erase(open.begin() + static_cast<std::ptrdiff_t>(attempt));
}

int Forest::NearestUnvetoed(int index) const {
  while (node(index).vetoed && node(index).parent >= 0) index = node(index).parent;
  return index;
}

int Forest::BestOf(const std::vector<int>& indices) const {
  int best = -1;
  for (const int one : indices) {
    if (node(one).vetoed) continue;
    if (best < 0 || node(one).worth > node(best).worth) best = one;
  }
  return best;
}

void Forest::Advance() {
  if (nodes_.empty()) return;
  for (size_t i = 0; i < rollouts_.size(); ++i) {
    Rollout& rollout = rollouts_[i];
    if (!rollout.open.empty()) continue;
    if (rollout.node < 0) {  // all begin at the first kernel
      rollout.node = 0;
      rollout.children.clear();
      continue;
    }
    rollout.node = NearestUnvetoed(rollout.node);
    const int best = BestOf(rollout.children);
    rollout.children.clear();
    if (best >= 0 && node(best).worth - node(rollout.node).worth > kNoWorse) rollout.node = best;
    if (++rollout.depth < settings_.depth && !FallsBehind(rollout)) continue;
    rollout.depth = 0;
    ++rollout.begun;
    rollout.node = BeginAt(rollout, i);
  }
}

bool Forest::FallsBehind(const Rollout& rollout) const {
  const std::vector<int> best = BestFirst();
  return !best.empty() && node(best.front()).worth - node(rollout.node).worth > kLeftBehind;
}

int Forest::BeginAt(const Rollout& rollout, size_t index) const {
  std::vector<int> best = BestFirst();
  if (best.empty()) return NearestUnvetoed(rollout.node);
  best.resize(std::min(best.size(), 2 * rollouts_.size()));
  std::vector<double> weights;
  for (const int one : best) {
    weights.push_back(std::exp((node(one).worth - node(best.front()).worth) / kBeginTemperature));
  }
  Random random(seed_, "begin/" + std::to_string(index) + "/" + std::to_string(rollout.begun));
  return best[random.Pick(weights)];
}

Status Forest::MakeAttempts(knowledge::KnowledgeBase& base, int64_t round) {
  if (nodes_.empty()) {
    MakeFirst();
    return {};
  }
  for (size_t i = 0; i < rollouts_.size(); ++i) {
    if (rollouts_[i].open.empty()) TRY(MakeNext(base, round, i));
  }
  return {};
}

// One rollout alone: the others wait for a first kernel.
void Forest::MakeFirst() {
  Rollout& rollout = rollouts_.front();
  if (!rollout.open.empty()) return;
  Attempt attempt;
  if (start_.has_value() && !given_tried_) {
    given_tried_ = true;
    attempt.kind = AttemptKind::kGiven;
  } else {
    if (first_versions_ == kFirstVersions) return;
    attempt.number = ++first_versions_;
    // What cannot be joined is written from the reference at last.
    const bool joins = has_parts_ && attempt.number < kFirstVersions;
    attempt.kind = joins ? AttemptKind::kJoin : AttemptKind::kBootstrap;
  }
  rollout.open.push_back(std::move(attempt));
}

// What to try next on the rollout's node; without a knowledge base the style alone says it.
Result<std::vector<TechniqueOption>> Forest::OptionsFor(knowledge::KnowledgeBase& base,
                                                        int64_t round, size_t index) const {
  const auto most = static_cast<size_t>(settings_.top_k);
  if (settings_.style == Style::kMaic) {
    Random random(seed_, "select/" + std::to_string(round) + "/" + std::to_string(index));
    return Select(base, problem_, node(rollouts_[index].node), most, random);
  }
  std::vector<TechniqueOption> options(most);
  for (TechniqueOption& option : options) option.technique = Name(settings_.style);
  return options;
}

Status Forest::MakeNext(knowledge::KnowledgeBase& base, int64_t round, size_t index) {
  Rollout& rollout = rollouts_[index];
  Node& at = node(rollout.node);
  for (TechniqueOption& option : TRY(OptionsFor(base, round, index))) {
    Attempt attempt;
    attempt.rollout = static_cast<int>(index);
    attempt.node = rollout.node;
    attempt.kind = KindOf(option, settings_.style);
    attempt.number = attempt.kind == AttemptKind::kContrastive
                         ? ++variants_
                         : static_cast<int>(at.tried.size()) + 1;
    attempt.tried = at.tried.size();
    at.tried.push_back({option.technique, option.target, ""});
    attempt.option = std::move(option);
    rollout.open.push_back(std::move(attempt));
  }
  return {};
}

std::vector<int> Forest::BestFirst() const {
  std::vector<int> best;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].vetoed) best.push_back(static_cast<int>(i));
  }
  std::stable_sort(best.begin(), best.end(),
                   [this](int a, int b) { return node(a).worth > node(b).worth; });
  return best;
}

std::vector<int> Forest::PathTo(int index) const {
  std::vector<int> way;
  for (; index >= 0; index = node(index).parent) way.push_back(index);
  std::reverse(way.begin(), way.end());
  return way;
}

std::string Forest::HistoryOf(int index) const {
  std::string text = "The way to this code (ratio to the bar, more is better):\n";
  for (const int at : PathTo(index)) {
    const Node& one = node(at);
    text += "- " + (one.technique.empty() ? std::string("the first version") : one.technique) +
            ": " + ScoreText(one) + "\n";
  }
  if (!node(index).tried.empty()) text += "Tried on this very code before:\n";
  for (const TriedTechnique& one : node(index).tried) {
    if (one.result.empty()) continue;  // under way
    text += "- " + one.technique + (one.target.empty() ? "" : " (" + one.target + ")") + ": " +
            one.result + "\n";
  }
  return text;
}

std::string Forest::StatePath() const {
  const std::vector<int> best = BestFirst();
  if (best.empty()) return "";
  std::string path;
  for (const int at : PathTo(best.front())) {
    const Node& one = node(at);
    if (!one.technique.empty()) path += " > " + one.technique;
    if (!one.kernels.empty()) path += (path.empty() ? "" : " > ") + one.kernels.front().state;
  }
  return path;
}

std::vector<int> Forest::Exemplars(int64_t round, int rollout, size_t most) const {
  const std::vector<int> best = BestFirst();
  std::vector<double> worth;
  for (const int one : best) worth.push_back(node(one).worth);
  Random random(seed_, "exemplars/" + std::to_string(round) + "/" + std::to_string(rollout));
  std::vector<int> chosen;
  for (const size_t one : prompts::DrawExemplars(worth, {.most = most}, random)) {
    chosen.push_back(best[one]);
  }
  return chosen;
}

}  // namespace warpsmith::agent
