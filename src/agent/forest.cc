#include "agent/forest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "agent/knowledge/quoted.h"
#include "agent/prompts/contrastive.h"

namespace warpsmith::agent {
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
