// How well the cost model ranks HGEMM's configurations: of each space of a recording, measured
// whole, how far the best of the model's first few is behind the best of all. CSV on stdout.
//
//   bench_model_ranking RECORDING
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "analysis/rank_correlation.h"
#include "core/ranking.h"
#include "hgemm/cost_model.h"
#include "hgemm/problem.h"
#include "store/recorded_device.h"
#include "task/hgemm_task.h"

namespace warpsmith {
namespace {

constexpr size_t kFirst[] = {1, 8, 12};

struct Measured {
  double predicted_us = 0;
  double time = 0;  // of cuBLASLt's
};

hgemm::Problem ProblemOf(const store::ReplaySpace& replay) {
  const task::HgemmShape shape = task::ShapeOf(replay.workload);
  const bool row_major_b = task::LayoutOf(replay.task) == "NN";
  return {shape.m, shape.n, shape.k, row_major_b ? hgemm::Layout::kNN : hgemm::Layout::kTN,
          task::DTypeOf(replay.task)};
}

// In units of cuBLASLt's time in a hot CUDA graph; infinite for what failed.
double TimeOf(const Verdict& verdict) {
  const std::optional<double> ratio = RankingRatio(verdict, Mode::kDeviceHot);
  return ratio && *ratio > 0 ? 1 / *ratio : std::numeric_limits<double>::infinity();
}

// Points without a time (those that failed) keep their place in the model's order.
Result<std::vector<Measured>> InTheModelsOrder(const store::RecordedDevice& recorded,
                                               const store::ReplaySpace& replay) {
  const hgemm::Problem problem = ProblemOf(replay);
  const hgemm::Target target = hgemm::TargetOf(recorded.Info());
  std::vector<Measured> all;
  for (const Point& point : replay.space.points()) {
    const Candidate candidate = TRY(replay.make(point));
    const std::string key =
        MeasurementKey(candidate, replay.task, replay.workload, Protocol::Screened());
    if (!recorded.Has(key)) continue;
    const Verdict verdict = TRY(recorded.LookUp(key)).verdict;
    all.push_back({hgemm::PredictUs(problem, target, point), TimeOf(verdict)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
    return a.predicted_us < b.predicted_us;
  });
  return all;
}

double BestOf(const std::vector<Measured>& all, size_t first) {
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(first, all.size()); ++i) best = std::min(best, all[i].time);
  return best;
}

double Spearman(const std::vector<Measured>& all) {
  std::vector<double> predicted, measured;
  for (const Measured& one : all) {
    if (!std::isfinite(one.time) || !std::isfinite(one.predicted_us)) continue;
    predicted.push_back(one.predicted_us);
    measured.push_back(one.time);
  }
  return analysis::RankCorrelation(predicted, measured).value_or(0);
}

Status Run(const char* path) {
  const auto recorded = TRY(store::RecordedDevice::Open(path));
  std::printf("space,points,spearman,best_ratio,behind_of_1,behind_of_8,behind_of_12\n");
  for (const store::ReplaySpace& replay : recorded->Spaces()) {
    if (task::LayoutOf(replay.task).empty()) continue;
    const std::vector<Measured> all = TRY(InTheModelsOrder(*recorded, replay));
    if (all.empty()) continue;
    const double best = BestOf(all, all.size());
    std::printf("%s,%zu,%.3f,%.3f", replay.space.name().c_str(), all.size(), Spearman(all),
                1 / best);
    for (const size_t first : kFirst) std::printf(",%.4f", BestOf(all, first) / best - 1);
    std::printf("\n");
  }
  return {};
}

}  // namespace
}  // namespace warpsmith

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: bench_model_ranking RECORDING\n");
    return 64;
  }
  const warpsmith::Status done = warpsmith::Run(arguments[1]);
  if (done.ok()) return 0;
  std::fprintf(stderr, "bench_model_ranking: %s\n", done.error().Line().c_str());
  return 1;
}
