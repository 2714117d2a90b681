#include "search/tuning/search_ahead.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/caught.h"
#include "base/interrupt.h"
#include "hgemm/family.h"
#include "hgemm/neighbours.h"
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
  auto proposer =
      proposers::SpaceProposer::Create(options.proposer, shared, make, options.seed, first);
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
