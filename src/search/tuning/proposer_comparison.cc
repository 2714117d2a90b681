#include "search/tuning/proposer_comparison.h"

#include <algorithm>
#include <cmath>

#include "hgemm/cost_model.h"
#include "search/proposers/strategy.h"
#include "search/tuning/search.h"
#include "task/hgemm_task.h"

namespace warpsmith::proposers {
namespace {

// Evaluations until each of the rising `thresholds` was reached; every one is reached, at the
// latest when the space is exhausted.
std::vector<int> EvaluationsTo(const std::vector<double>& thresholds, Strategy strategy,
                               const std::vector<double>& scores, int batch) {
  std::vector<int> evaluations;
  int spent = 0;
  while (evaluations.size() < thresholds.size()) {
    const std::vector<int> proposed = strategy.next(batch);
    CHECK(!proposed.empty());
    for (const int index : proposed) {
      ++spent;
      while (evaluations.size() < thresholds.size() &&
             scores[index] >= thresholds[evaluations.size()]) {
        evaluations.push_back(spent);
      }
      strategy.tell(index, scores[index] > 0 ? scores[index] : kFailedScore);
    }
  }
  return evaluations;
}

}  // namespace

double Quantile(const std::vector<int>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

Result<std::vector<report::ProposerRow>> CompareStrategies(
    const std::shared_ptr<const Terrain>& terrain, const std::vector<double>& scores,
    const CompareOptions& options) {
  CHECK(scores.size() == terrain->space().size());
  const double best = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  if (!(best > 0) || options.seeds < 1) {
    return Error{ErrorCode::kNothingMeasured,
                 "cannot compare proposers on " + terrain->space().name() + ": none of its " +
                     std::to_string(scores.size()) + " points has a measured score",
                 "record the space first"};
  }
  std::vector<double> fractions = options.targets;
  std::sort(fractions.begin(), fractions.end());
  std::vector<double> thresholds;
  for (const double fraction : fractions) thresholds.push_back(fraction * best);

  std::vector<report::ProposerRow> answer;
  for (const std::string_view name : StrategyNames()) {
    std::vector<std::vector<int>> each(thresholds.size());
    for (int seed = 0; seed < options.seeds; ++seed) {
      const std::vector<int> evaluations =
          EvaluationsTo(thresholds, TRY(MakeStrategy(name, terrain, static_cast<uint64_t>(seed))),
                        scores, options.batch);
      for (size_t i = 0; i < each.size(); ++i) each[i].push_back(evaluations[i]);
    }
    for (size_t i = 0; i < each.size(); ++i) {
      std::sort(each[i].begin(), each[i].end());
      answer.push_back({terrain->space().name(), std::string(name), fractions[i],
                        Quantile(each[i], 0.25), Quantile(each[i], 0.5), Quantile(each[i], 0.75),
                        options.seeds});
    }
  }
  return answer;
}

}  // namespace warpsmith::proposers

namespace warpsmith::search {
namespace {

// The score of each point, as a search would have been told it.
Result<std::vector<double>> ScoresOf(const store::RecordedDevice& recorded,
                                     const store::ReplaySpace& replay) {
  std::vector<double> scores;
  for (const Point& point : replay.space.points()) {
    const Candidate candidate = TRY(replay.make(point));
    const std::string key =
        MeasurementKey(candidate, replay.task, replay.workload, SearchProtocol());
    double score = 0;
    if (recorded.Has(key)) {
      score = RatioToPrimary(TRY(recorded.LookUp(key)).verdict, Mode::kDeviceHot).value_or(0);
    }
    scores.push_back(score);
  }
  return scores;
}

Result<std::vector<report::ProposerRow>> CompareOn(const store::RecordedDevice& recorded,
                                                   const store::ReplaySpace& replay,
                                                   const std::string& cost_model) {
  const hgemm::Problem problem = ProblemOf(replay.task, replay.workload);
  const proposers::CostModel model =
      TRY(ReadCostModel(cost_model, problem, hgemm::TargetOf(recorded.Info())));
  const auto terrain = std::make_shared<const proposers::Terrain>(
      replay.space, model, [&](const Point& point) { return hgemm::ArmOf(problem, point); });
  return proposers::CompareStrategies(terrain, TRY(ScoresOf(recorded, replay)));
}

}  // namespace

Result<std::vector<report::ProposerRow>> CompareProposers(Machine& machine,
                                                          const std::string& cost_model) {
  std::unique_ptr<store::RecordedDevice> shipped;
  const store::RecordedDevice* recorded = machine.recorded();
  if (recorded == nullptr) {
    const auto path = ShippedRecordings();
    if (!path.ok()) return std::vector<report::ProposerRow>{};
    shipped = TRY(store::RecordedDevice::Open(*path));
    recorded = shipped.get();
  }
  std::vector<report::ProposerRow> rows;
  for (const store::ReplaySpace& replay : recorded->Spaces()) {
    if (task::LayoutOf(replay.task).empty()) continue;
    for (report::ProposerRow& row : TRY(CompareOn(*recorded, replay, cost_model))) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace warpsmith::search
