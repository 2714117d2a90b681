#include "hgemm/bench/tune.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "report/progress_line.h"
#include "report/terminal.h"
#include "search/tuning/search_ahead.h"

namespace warpsmith::hgemm {
namespace {

constexpr double kSecondsAShape = 1;  // contents, references, cuBLASLt's autotuning

// Seconds of the GPU, as measured on an H200: what every verdict costs, and about so many launches
// of the candidate and the bar beside it, each at half of what the tensor cores promise.
double SecondsOf(const Protocol& protocol, const task::HgemmShape& shape) {
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k);
  const double launch = flops / 500e12;
  return protocol.level == Level::kCertified ? 2.2 + 3000 * launch : 0.15 + 60 * launch;
}

}  // namespace

std::string TuneCommandOf(const TuneOptions& options) {
  return "warpsmith hgemm tune --shapes " + options.shapes + " " + ArgumentsOf(options.product) +
         " --proposer " + options.search.proposer + " --budget " + options.search.budget +
         " --seed " + std::to_string(options.search.seed) +
         (options.search.overlap ? "" : " --no-overlap") +
         (options.near.empty() ? "" : " --near " + options.near) +
         (options.search.cost_model.empty() ? "" : " --cost-model " + options.search.cost_model);
}

search::SearchOptions UnsetTuneOptions() {
  search::SearchOptions search;
  search.proposer.clear();
  search.budget.clear();
  search.finalists = search.batch = -1;
  return search;
}

// Of many shapes each is screened only, in generations so small that the last one knows what the
// first one gave: certifying costs more than all the rest, and `hgemm bench` and `verify` look at
// every winner again.
search::SearchOptions TuneDefaults(search::SearchOptions search, size_t shapes) {
  const bool few = shapes <= kFewShapes;
  if (search.proposer.empty()) search.proposer = few ? "guided" : "brief";
  if (search.budget.empty()) search.budget = few ? "evals=160" : "evals=24";
  if (search.finalists < 0) search.finalists = few ? 3 : 0;
  if (search.batch < 0) search.batch = few ? 8 : 4;
  return search;
}

// What a plan would cost, from the budget and what verdicts take.
Result<std::vector<PlannedSearch>> PlanTuning(search::Machine& machine, const TuneOptions& options,
                                              const std::vector<task::HgemmShape>& shapes,
                                              const Catalogue& nearby) {
  const Budget budget = TRY(ParseBudget(options.search.budget));
  const Task task = TaskOf(options.product);
  const bool replays = machine.recorded() != nullptr;
  std::vector<PlannedSearch> rows;
  for (const task::HgemmShape& shape : shapes) {
    const search::SearchJob job =
        TRY(search::TuneSearch(machine, options.search, nearby, task, task::HgemmWorkload(shape)));
    const int64_t evaluations =
        std::min<int64_t>(budget.evaluations, static_cast<int64_t>(job.space.size()));
    const double each = replays ? 0.0005 : SecondsOf(search::SearchProtocol(), shape);
    double seconds = std::min(budget.gpu_seconds, each * static_cast<double>(evaluations));
    if (!replays) {
      seconds += kSecondsAShape +
                 options.search.finalists * SecondsOf(search::FinalProtocol(options.search), shape);
    }
    rows.push_back({job.label, job.space.size(), evaluations, seconds});
  }
  return rows;
}

Result<Tuned> TuneAll(search::Machine& machine, const TuneOptions& options,
                      const std::vector<task::HgemmShape>& shapes, const Catalogue& nearby,
                      const std::string& prefix) {
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const search::CallTime time(options.pace);
  const Task task = TaskOf(options.product);
  store::DatabaseStore* store = TRY(machine.store());
  search::SearchAhead ahead(machine, options.search, nearby);
  // What an earlier call has begun was compiled then.
  const auto begin = [&](size_t i) -> Status {
    const bool known = TRY(store->FindRun(prefix + "/" + task::Name(shapes[i]))).has_value();
    ahead.Begin(task, task::HgemmWorkload(shapes[i]), !known);
    return {};
  };
  Tuned tuned;
  if (!shapes.empty()) TRY(begin(0));
  for (size_t i = 0; i < shapes.size(); ++i) {
    search::SearchContext context{&machine,
                                  &options.search,
                                  options.common.quiet ? nullptr : &line,
                                  prefix + "/" + task::Name(shapes[i]),
                                  TuneCommandOf(options),
                                  time.Left()};
    tuned.stopped = time.IsOver();
    if (tuned.stopped) break;
    search::SearchJob job = TRY(ahead.Take());
    if (i + 1 < shapes.size()) TRY(begin(i + 1));
    job.label += " (" + std::to_string(i + 1) + "/" + std::to_string(shapes.size()) + ")";
    tuned.ends.push_back(TRY(search::Search(job, context)));
    line.Clear();
    const search::EndReason reason = tuned.ends.back().reason;
    tuned.stopped =
        reason == search::EndReason::kMaxSeconds || reason == search::EndReason::kInterrupted;
    if (tuned.stopped) break;
  }
  return tuned;
}

}  // namespace warpsmith::hgemm
