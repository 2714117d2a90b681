#include "judge/library_contest.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/median.h"
#include "judge/baseline/contest.h"
#include "judge/batch_command.h"

namespace warpsmith::judge {
namespace {

using baseline::GemmBaselineChoice;
using baseline::GemmBaselineName;

constexpr std::chrono::seconds kContestLimit{60};  // a library's first call may load much
constexpr size_t kShortlisted = 32;                // of what an exhaustive list adds

Result<std::vector<GemmBaselineChoice>> ChoicesFrom(const std::string& text) {
  const auto list = TRY(ParseJson("entrants", text));
  std::vector<GemmBaselineChoice> choices;
  for (const JsonReader& item : TRY(JsonReader("entrants", list).Items())) {
    choices.push_back(TRY(baseline::GemmBaselineChoiceFrom(item)));
  }
  return choices;
}

// Callers with a layout of their own cannot have the faster of both: each layout has its winner,
// and cublasGemmEx, which not everybody can call who calls cuBLASLt, is a group of its own. So is
// what an exhaustive list adds: the last rounds say what the heuristic misses.
enum Group : int { kNN, kTN, kCublas, kEveryNN, kEveryTN };

// A third party's library is in no such contest (baseline::Entrants).
int GroupOf(const GemmBaselineChoice& entrant) {
  if (!entrant.algorithm) return kCublas;
  const bool is_nn = entrant.shape.layout == cuda::GemmLayout::kNN;
  if (entrant.exhaustive) return is_nn ? kEveryNN : kEveryTN;
  return is_nn ? kNN : kTN;
}

// The faster of some groups' winners; -1 where they have none.
int BestOf(const baseline::ContestResult& result, std::initializer_list<Group> groups) {
  int best = -1;
  for (const Group group : groups) {
    const bool exists = static_cast<size_t>(group) < result.of_groups.size();
    const int i = exists ? result.of_groups[static_cast<size_t>(group)] : -1;
    if (i < 0) continue;
    const auto us = [&](int entrant) { return result.medians_us[static_cast<size_t>(entrant)]; };
    if (best < 0 || us(i) < us(best)) best = i;
  }
  return best;
}

}  // namespace

Status MakeCallReady(CalledProcess& runner, const GemmBaselineChoice& choice) {
  const std::string call = baseline::CallOf(choice);
  auto& ready = runner.baselines;
  if (std::find(ready.begin(), ready.end(), call) != ready.end()) return {};
  const CallResult made =
      runner.Call(BaselineCommand{call, baseline::ToText(choice)}, kContestLimit);
  if (!std::holds_alternative<Reply>(made)) {
    return ErrorOfCall(made, "making baseline " + baseline::Text(choice.name) + " ready");
  }
  ready.push_back(call);
  return {};
}

Result<std::vector<GemmBaselineChoice>> LibraryContest::Entrants(const ChoiceRequest& request) {
  const auto limit =
      kContestLimit + std::chrono::seconds(static_cast<int>(request.exhaustive_seconds));
  const CallResult listed =
      runner_.Call(EntrantsCommand{request.name, request.exhaustive_seconds}, limit);
  const auto* reply = std::get_if<Reply>(&listed);
  if (reply == nullptr) return ErrorOfCall(listed, "listing the ways of baseline " + request.name);
  return ChoicesFrom(reply->text);
}

Result<std::vector<GemmBaselineChoice>> LibraryContest::MakeReady(
    std::vector<GemmBaselineChoice> entrants, const ChoiceRequest& request) {
  const bool exhaustive = request.exhaustive_seconds > 0;
  const double until = MonotonicSeconds() + request.exhaustive_seconds;
  std::vector<GemmBaselineChoice> ready;
  std::optional<Error> refused;
  for (GemmBaselineChoice& entrant : entrants) {
    if (exhaustive && entrant.exhaustive && MonotonicSeconds() > until) continue;
    const Status made = MakeCallReady(runner_, entrant);
    if (made.ok()) {
      ready.push_back(std::move(entrant));
    } else if (runner_.alive()) {
      refused = made.error();
    } else {
      return made.error();
    }
  }
  if (ready.empty()) return *refused;
  return ready;
}

Result<double> LibraryContest::TimeOnce(const std::string& callee, Mode mode) {
  const ArenaPlan& plan = arena_.plan();
  const BatchPlan batch = PlanBatch(plan, mode, arena_.assignments(), plan.timed_launches, random_);
  const CallResult call =
      runner_.Call(CommandOf(arena_, callee, mode, batch, random_), kContestLimit);
  const auto* reply = std::get_if<Reply>(&call);
  if (reply == nullptr || reply->elapsed_us.empty()) {
    return ErrorOfCall(call, "timing " + callee + " in mode " + std::string(Name(mode)));
  }
  return Median(reply->elapsed_us);
}

Result<std::vector<GemmBaselineChoice>> LibraryContest::Hold(
    const std::vector<GemmBaselineChoice>& entrants, Mode mode) {
  std::vector<int> groups;
  std::vector<std::string> callees;
  for (const GemmBaselineChoice& entrant : entrants) {
    groups.push_back(GroupOf(entrant));
    callees.push_back(baseline::CallOf(entrant));
  }
  baseline::ContestResult result = TRY(baseline::RunContest(
      groups, {}, random_, [&](int i) { return TimeOnce(callees[static_cast<size_t>(i)], mode); }));
  const bool exhaustive = std::any_of(entrants.begin(), entrants.end(),
                                      [](const GemmBaselineChoice& e) { return e.exhaustive; });
  const auto winner = [&](int i, int listed, std::ptrdiff_t tried) {
    GemmBaselineChoice choice = entrants[static_cast<size_t>(i)];
    choice.median_us = result.medians_us[static_cast<size_t>(i)];
    choice.listed_us = listed < 0 ? 0 : result.medians_us[static_cast<size_t>(listed)];
    choice.tried = static_cast<int>(tried);
    choice.mode = mode;
    choice.contest = baseline::ContestId();
    choice.exhaustive = exhaustive;
    return choice;
  };
  std::vector<GemmBaselineChoice> winners = {winner(result.winner,
                                                    BestOf(result, {kNN, kTN, kCublas}),
                                                    static_cast<std::ptrdiff_t>(entrants.size()))};
  const GemmBaselineName& name = entrants.front().name;
  const bool is_bar = name.library == baseline::GemmLibrary::kLtAuto && !name.layout;
  for (const auto& [listed, every] : {std::pair(kNN, kEveryNN), {kTN, kEveryTN}}) {
    const int best = BestOf(result, {listed, every});
    if (!is_bar || best < 0) continue;
    winners.push_back(winner(best, BestOf(result, {listed}),
                             std::count(groups.begin(), groups.end(), listed) +
                                 std::count(groups.begin(), groups.end(), every)));
    winners.back().name.layout = winners.back().shape.layout;
  }
  medians_us_ = std::move(result.medians_us);
  return winners;
}

std::vector<GemmBaselineChoice> LibraryContest::Shortlist(
    const std::vector<GemmBaselineChoice>& entrants) const {
  CHECK(medians_us_.size() == entrants.size());
  std::vector<size_t> order(entrants.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [this](size_t a, size_t b) { return medians_us_[a] < medians_us_[b]; });
  std::vector<GemmBaselineChoice> kept;
  size_t added = 0;
  for (const size_t i : order) {
    if (entrants[i].exhaustive && added++ >= kShortlisted) continue;
    kept.push_back(entrants[i]);
  }
  return kept;
}

}  // namespace warpsmith::judge
