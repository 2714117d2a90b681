#include "hgemm/bench/tune.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <unistd.h>

#include "base/caught.h"
#include "base/interrupt.h"
#include "hgemm/catalogue.h"
#include "hgemm/family.h"
#include "report/terminal.h"
#include "search/proposers/strategy.h"

namespace warpsmith::search {
namespace {

constexpr size_t kMostNearby = 3;
constexpr int kGenerations = 2;  // proposed before the first verdict: search/loop.h

// What the search will propose first. Nothing here is an error yet: the search itself will meet it
// again.
std::vector<Candidate> FirstCandidates(const proposers::Terrain& terrain,
                                       const CandidateMaker& make, const std::vector<Point>& first,
                                       const SearchOptions& options) {
  const std::shared_ptr<const proposers::Terrain> shared(&terrain, [](const auto*) {});
  auto proposer = proposers::MakeSpaceProposer(options.proposer, shared, make, options.seed, first);
  std::vector<Candidate> candidates;
  if (!proposer.ok()) return candidates;
  for (int generation = 0; generation < kGenerations; ++generation) {
    Result<std::vector<Proposal>> proposals = (*proposer)->Propose(options.batch);
    if (!proposals.ok()) break;
    for (Proposal& proposal : *proposals) {
      if (!proposal.refusal) candidates.push_back(std::move(proposal.candidate));
    }
  }
  return candidates;
}

void CompileAll(Compiler& compiler, const std::string& architecture,
                const std::vector<Candidate>& candidates) {
  std::vector<std::future<void>> compiled;
  for (const Candidate& candidate : candidates) {
    compiled.push_back(std::async(std::launch::async, [&] {
      if (!Interrupted()) (void)compiler.Compile(candidate, architecture);
    }));
  }
}

}  // namespace

Result<SearchJob> TuneSearch(Machine& machine, const SearchOptions& options,
                             const hgemm::Catalogue& nearby, const Task& task,
                             const Workload& workload) {
  const hgemm::Problem problem = ProblemOf(task, workload);
  SearchJob job = TRY(HgemmSearch(machine, task, workload));
  if (!options.cost_model.empty()) {
    job.model = TRY(ReadCostModel(options.cost_model, problem, hgemm::TargetOf(machine.info())));
  }
  if (machine.recorded() == nullptr) {
    hgemm::Target target = hgemm::TargetOf(machine.info());
    target.overlap = options.overlap;
    if (!target.overlap) job.space = hgemm::SpaceFor(problem, target);
    job.space = hgemm::WithOwnWinners(nearby, problem, target, job.space);
  }
  job.first = hgemm::LikeWinnersNearby(nearby, problem, job.space, kMostNearby);
  return job;
}

SearchAhead::~SearchAhead() { Join(); }

void SearchAhead::Join() {
  if (maker_.joinable()) maker_.join();
}

void SearchAhead::Begin(const Task& task, const Workload& workload, bool compile) {
  Join();
  std::promise<Result<SearchJob>> made;
  job_ = made.get_future();
  Compiler* const compiler = compile ? machine_.loop_compiler() : nullptr;
  maker_ = std::thread([this, task, workload, compiler, made = std::move(made)]() mutable {
    Result<SearchJob> job =
        Caught([&] { return TuneSearch(machine_, options_, nearby_, task, workload); });
    if (!job.ok() || compiler == nullptr) return made.set_value(std::move(job));
    const proposers::Terrain terrain(job->space, job->model, job->arm);
    const CandidateMaker make = job->make;
    const std::vector<Point> first = job->first;
    made.set_value(std::move(job));
    // What fails here fails again where it is told.
    (void)Caught([&]() -> Status {
      CompileAll(*compiler, machine_.info().architecture,
                 FirstCandidates(terrain, make, first, options_));
      return {};
    });
  });
}

Result<SearchJob> SearchAhead::Take() {
  CHECK(job_.valid());
  return job_.get();
}

}  // namespace warpsmith::search

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
