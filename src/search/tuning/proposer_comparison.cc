#include "search/tuning/proposer_comparison.h"

#include "hgemm/cost_model.h"
#include "search/proposers/compare.h"
#include "search/tuning/search.h"
#include "task/hgemm_task.h"

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
  const proposers::CompareOptions options;
  std::vector<report::ProposerRow> rows;
  for (const proposers::EvaluationsToTarget& target :
       TRY(proposers::CompareStrategies(terrain, TRY(ScoresOf(recorded, replay)), options))) {
    rows.push_back({replay.space.name(), target.strategy, target.fraction, target.lower_quartile,
                    target.median, target.upper_quartile, options.seeds});
  }
  return rows;
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
