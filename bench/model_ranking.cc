// How well the cost model ranks HGEMM's configurations: of each space of a recording, how far the
// best of the model's first few is behind the best of all that were measured. CSV on stdout; a cell
// is empty where nothing passed.
//
//   bench_model_ranking RECORDING
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/ranking.h"
#include "hgemm/cost_model.h"
#include "hgemm/problem.h"
#include "report/analysis/rank_correlation.h"
#include "store/recorded_device.h"
#include "task/hgemm_task.h"

namespace warpsmith {
namespace {

constexpr size_t kFirst[] = {1, 8, 12};

struct Measured {
  double predicted_us = 0;
  double time_in_bars = 0;
};

hgemm::Problem ProblemOf(const store::ReplaySpace& replay) {
  const task::HgemmShape shape = task::ShapeOf(replay.workload);
  const std::optional<hgemm::Layout> layout = hgemm::LayoutFromText(task::LayoutOf(replay.task));
  return {shape.m, shape.n, shape.k, layout.value(), task::DTypeOf(replay.task)};
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
  for (size_t i = 0; i < std::min(first, all.size()); ++i)
    best = std::min(best, all[i].time_in_bars);
  return best;
}

std::optional<double> Spearman(const std::vector<Measured>& all) {
  std::vector<double> predicted, measured;
  for (const Measured& one : all) {
    if (!std::isfinite(one.time_in_bars) || !std::isfinite(one.predicted_us)) continue;
    predicted.push_back(one.predicted_us);
    measured.push_back(one.time_in_bars);
  }
  return analysis::RankCorrelation(predicted, measured);
}

std::string Cell(std::optional<double> value, int digits) {
  return value && std::isfinite(*value) ? fmt::format("{:.{}f}", *value, digits) : "";
}

Status Run(const char* path) {
  const auto recorded = TRY(store::RecordedDevice::Open(path));
  std::string lines = "space,points,spearman,best_ratio";
  for (const size_t first : kFirst) lines += fmt::format(",behind_of_{}", first);
  bool is_empty = true;
  for (const store::ReplaySpace& replay : recorded->Spaces()) {
    if (task::LayoutOf(replay.task).empty()) continue;
    const std::vector<Measured> all = TRY(InTheModelsOrder(*recorded, replay));
    if (all.empty()) continue;
    is_empty = false;
    const double best = BestOf(all, all.size());
    lines += fmt::format("\n{},{},{},{}", replay.space.name(), all.size(), Cell(Spearman(all), 3),
                         std::isfinite(best) ? Cell(1 / best, 3) : "");
    for (const size_t first : kFirst) lines += "," + Cell(BestOf(all, first) / best - 1, 4);
  }
  if (is_empty) {
    return Error{ErrorCode::kNotRecorded, std::string(path) + " holds no screened HGEMM space",
                 "name one that 'warpsmith record' wrote"};
  }
  std::printf("%s\n", lines.c_str());
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
