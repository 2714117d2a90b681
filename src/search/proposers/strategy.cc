#include "search/proposers/strategy.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "search/proposers/guided_search.h"

namespace warpsmith::proposers {
namespace {

// The yardstick: every point once, in random order.
class RandomSearch {
 public:
  static constexpr std::string_view kName = "random";
  RandomSearch(const std::shared_ptr<const Terrain>& terrain, uint64_t seed)
      : log_(terrain->size(), seed, kName) {}

  std::vector<int> Next(int n) {
    std::vector<int> batch;
    while (static_cast<int>(batch.size()) < n) {
      const int index = log_.DrawUnproposed();
      if (index < 0) break;
      batch.push_back(index);
    }
    return batch;
  }

  void Tell(int index, double score) { log_.Tell(index, score); }

 private:
  SearchLog log_;
};

// Hill climbing with random restarts: move to the first neighbour that is better, and when none is,
// start again from the best random point not climbed from yet.
class LocalSearch {
 public:
  static constexpr std::string_view kName = "local";
  LocalSearch(std::shared_ptr<const Terrain> terrain, uint64_t seed)
      : terrain_(std::move(terrain)),
        log_(terrain_->size(), seed, kName),
        random_(seed, "local/neighbours"),
        is_start_(terrain_->size()) {}

  // Unproposed neighbours of where it stands; what a batch has room for beyond them is filled with
  // random points, which are the starts of later climbs.
  std::vector<int> Next(int n) {
    std::vector<int> batch;
    while (static_cast<int>(batch.size()) < n) {
      int index = NextNeighbour();
      if (index < 0) {
        index = log_.DrawUnproposed();
        if (index < 0) break;
        is_start_[index] = true;
      }
      batch.push_back(index);
    }
    return batch;
  }

  void Tell(int index, double score) {
    log_.Tell(index, score);
    if (is_start_[index]) {
      if (score > kFailedScore) starts_.push_back(index);
      return;
    }
    --neighbours_pending_;
    if (score > log_.Score(current_)) MoveTo(index);
  }

 private:
  void MoveTo(int index) {
    current_ = index;
    to_try_ = terrain_->Neighbours(index);
    random_.Shuffle(to_try_);
  }

  void RestartIfStuck() {
    for (;;) {
      while (!to_try_.empty() && log_.Proposed(to_try_.back())) to_try_.pop_back();
      const bool stuck = to_try_.empty() && neighbours_pending_ == 0;
      if (!stuck || starts_.empty()) return;
      const auto best = std::max_element(starts_.begin(), starts_.end(), [this](int a, int b) {
        return log_.Score(a) < log_.Score(b);
      });
      const int start = *best;
      starts_.erase(best);
      MoveTo(start);
    }
  }

  int NextNeighbour() {
    RestartIfStuck();
    while (!to_try_.empty()) {
      const int index = to_try_.back();
      to_try_.pop_back();
      if (log_.Proposed(index)) continue;
      log_.Propose(index);
      ++neighbours_pending_;
      return index;
    }
    return -1;
  }

  std::shared_ptr<const Terrain> terrain_;
  SearchLog log_;
  Random random_;
  int current_ = -1;            // where the climb stands; -1: nowhere yet
  std::vector<int> to_try_;     // its neighbours, in random order, from the back
  int neighbours_pending_ = 0;  // proposed from to_try_ and not told yet
  std::vector<int> starts_;     // random points told and not climbed from
  std::vector<bool> is_start_;
};

// The name outlives the search: it is a literal.
template <typename Search, typename... Arguments>
Strategy StrategyOf(Arguments&&... arguments) {
  const auto search = std::make_shared<Search>(std::forward<Arguments>(arguments)...);
  return {Search::kName, [search](int n) { return search->Next(n); },
          [search](int index, double score) { search->Tell(index, score); }};
}

class SpaceProposer final : public Proposer {
 public:
  SpaceProposer(Strategy strategy, std::shared_ptr<const Terrain> terrain, CandidateMaker maker)
      : strategy_(std::move(strategy)), terrain_(std::move(terrain)), maker_(std::move(maker)) {}

  std::string_view Name() const override { return strategy_.name; }

  Result<std::vector<Proposal>> Propose(int n) override {
    std::vector<Proposal> proposals;
    const std::string group = std::string(Name()) + "/" + std::to_string(batches_++);
    for (const int index : strategy_.next(n)) {
      const Point& point = terrain_->space().points()[index];
      Candidate candidate = TRY(maker_(point));
      candidate.provenance.proposer = Name();
      candidate.provenance.group = group;
      candidate.provenance.family = point.family;
      candidate.provenance.config = point.config;
      proposals.push_back({std::move(candidate), {}, {}});
    }
    return proposals;
  }

  void Observe(const Step& step) override {
    const Provenance& from = step.candidate.provenance;
    const int index = terrain_->space().Find(Point{from.family, from.config});
    CHECK(index >= 0);
    strategy_.tell(index, ScoreOf(step));
  }

 private:
  Strategy strategy_;
  std::shared_ptr<const Terrain> terrain_;
  CandidateMaker maker_;
  int64_t batches_ = 0;
};

}  // namespace

double ScoreOf(const Step& step) {
  return std::holds_alternative<Passed>(step.verdict.outcome) ? step.reward : kFailedScore;
}

Result<std::unique_ptr<Proposer>> MakeSpaceProposer(std::string_view strategy,
                                                    std::shared_ptr<const Terrain> terrain,
                                                    CandidateMaker maker, uint64_t seed,
                                                    const std::vector<Point>& first) {
  std::vector<int> indices;
  for (const Point& point : first) {
    const int index = terrain->space().Find(point);
    if (index >= 0) indices.push_back(index);
  }
  Strategy chosen = TRY(MakeStrategy(strategy, terrain, seed, std::move(indices)));
  return std::unique_ptr<Proposer>(
      new SpaceProposer(std::move(chosen), std::move(terrain), std::move(maker)));
}

std::span<const std::string_view> StrategyNames() {
  static constexpr std::array<std::string_view, 3> kNames = {RandomSearch::kName,
                                                             LocalSearch::kName, kGuided};
  return kNames;
}

Result<Strategy> MakeStrategy(std::string_view name, std::shared_ptr<const Terrain> terrain,
                              uint64_t seed, std::vector<int> first) {
  GuidedOptions options;
  options.first = std::move(first);
  if (name == kGuided) return MakeGuided(std::move(terrain), seed, options);
  if (name == kBrief) {
    options.starting_arms = 5;
    options.exploration = 0;
    return MakeGuided(std::move(terrain), seed, options);
  }
  if (!options.first.empty()) {
    return Error{ErrorCode::kUsage,
                 "the search '" + std::string(name) + "' cannot begin with given points",
                 "choose one of: guided, brief"};
  }
  if (name == RandomSearch::kName) return StrategyOf<RandomSearch>(terrain, seed);
  if (name == LocalSearch::kName) return StrategyOf<LocalSearch>(std::move(terrain), seed);
  return Error{ErrorCode::kUsage, "no search strategy is called '" + std::string(name) + "'",
               "choose one of: " + Joined(StrategyNames()) + ", " + std::string(kBrief)};
}

}  // namespace warpsmith::proposers
