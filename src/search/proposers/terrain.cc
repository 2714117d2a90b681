#include "search/proposers/terrain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "base/result.h"

namespace warpsmith::proposers {
namespace {

double LogOf(double predicted_us) {
  // A point of which the model says nothing (0, or no number) comes last. It stays in the space:
  // the model may be wrong.
  if (!(predicted_us > 0)) return std::numeric_limits<double>::infinity();
  return std::log(predicted_us);
}

}  // namespace

Terrain::Terrain(Space space, const CostModel& model, const ArmOf& arm_of)
    : space_(std::move(space)), neighbours_(space_.size()) {
  std::map<std::string, int> arm_numbers;
  std::map<std::tuple<std::string, std::string, int64_t>, int> level_numbers;
  for (const Point& point : space_.points()) {
    const int index = static_cast<int>(arm_.size());
    log_predicted_.push_back(model ? LogOf(model(point)) : 0.0);
    const std::string name = arm_of ? arm_of(point) : point.family;
    const int arm =
        arm_numbers.try_emplace(name, static_cast<int>(arm_numbers.size())).first->second;
    arm_.push_back(arm);
    if (arm == arms()) members_.emplace_back();
    members_[arm].push_back(index);
    std::vector<int>& levels = levels_of_.emplace_back();
    for (const auto& [parameter, value] : point.config) {
      const int next = static_cast<int>(level_numbers.size());
      levels.push_back(
          level_numbers.try_emplace({point.family, parameter, value}, next).first->second);
    }
  }
  levels_ = static_cast<int>(level_numbers.size());
}

const std::vector<int>& Terrain::Neighbours(int index) const {
  std::optional<std::vector<int>>& known = neighbours_[index];
  if (!known) known = space_.Neighbours(index);
  return *known;
}

SearchLog::SearchLog(int size, uint64_t seed, std::string_view stream)
    : proposed_(size), told_(size), score_(size, kFailedScore), shuffled_(size) {
  std::iota(shuffled_.begin(), shuffled_.end(), 0);
  Random(seed, stream).Shuffle(shuffled_);
}

void SearchLog::Propose(int index) {
  CHECK(!proposed_[index]);
  proposed_[index] = true;
}

void SearchLog::Tell(int index, double score) {
  CHECK(proposed_[index] && !told_[index]);
  told_[index] = true;
  score_[index] = score;
  order_told_.push_back(index);
}

int SearchLog::DrawUnproposed() {
  // The order is drawn once. What a search proposes by itself takes points out of it, and does not
  // change the order of the others.
  while (cursor_ < shuffled_.size() && proposed_[shuffled_[cursor_]]) ++cursor_;
  if (cursor_ == shuffled_.size()) return -1;
  const int index = shuffled_[cursor_++];
  Propose(index);
  return index;
}

namespace {

struct Member {
  int index = 0;                // in the space
  std::vector<int64_t> values;  // of the family's parameters, in their order
  double predicted_us = 0;
};
using Members = std::vector<Member>;

std::map<std::string, Members> ByFamily(const Space& space, const CostModel& model) {
  std::map<std::string, Members> families;
  for (size_t i = 0; i < space.size(); ++i) {
    const Point& point = space.points()[i];
    const double predicted_us = model ? model(point) : 1.0;
    Member member{static_cast<int>(i),
                  {},
                  predicted_us > 0 ? predicted_us : std::numeric_limits<double>::max()};
    for (const auto& [name, value] : point.config) member.values.push_back(value);
    families[point.family].push_back(std::move(member));
  }
  return families;
}

struct Struck {
  size_t parameter = 0;
  int64_t value = 0;
  double best_us = -1;  // < 0: no parameter has two values left
};

Struck SlowestValue(const Members& members) {
  Struck slowest;
  for (size_t parameter = 0; parameter < members.front().values.size(); ++parameter) {
    // A value is as good as the best point that has it: most points are slow for another reason.
    std::map<int64_t, double> best;  // by value
    for (const Member& member : members) {
      const auto [entry, added] = best.try_emplace(member.values[parameter], member.predicted_us);
      if (!added) entry->second = std::min(entry->second, member.predicted_us);
    }
    if (best.size() < 2) continue;
    for (const auto& [value, best_us] : best) {
      if (best_us > slowest.best_us) slowest = {parameter, value, best_us};
    }
  }
  return slowest;
}

void Shrink(Members& members, size_t limit) {
  while (members.size() > limit) {
    const Struck struck = SlowestValue(members);
    if (struck.best_us < 0) return;
    std::erase_if(members, [&](const Member& member) {
      return member.values[struck.parameter] == struck.value;
    });
  }
}

}  // namespace

Space ClosedSubset(const Space& space, const CostModel& model, size_t limit) {
  CHECK(limit >= 1);
  if (space.size() <= limit) return space;
  std::map<std::string, Members> families = ByFamily(space, model);
  std::vector<Members*> smallest_first;
  for (auto& [family, members] : families) smallest_first.push_back(&members);
  std::stable_sort(smallest_first.begin(), smallest_first.end(),
                   [](const Members* a, const Members* b) { return a->size() < b->size(); });
  std::vector<int> kept;
  for (size_t i = 0; i < smallest_first.size(); ++i) {
    const size_t share = (limit - std::min(limit, kept.size())) / (smallest_first.size() - i);
    Shrink(*smallest_first[i], std::max<size_t>(1, share));
    for (const Member& member : *smallest_first[i]) kept.push_back(member.index);
  }
  std::sort(kept.begin(), kept.end());
  std::vector<Point> points;
  for (int index : kept) points.push_back(space.points()[index]);
  return Space(space.name(), std::move(points));
}

}  // namespace warpsmith::proposers
