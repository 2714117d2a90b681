#include <unistd.h>

#include <cstdio>

#include "base/interrupt.h"
#include "call_time.h"
#include "catalogue.h"
#include "commands.h"
#include "hgemm_products.h"
#include "report/terminal.h"
#include "search.h"
#include "search/slice.h"
#include "search/tuning/proposer_comparison.h"
#include "search/tuning/search_ahead.h"
#include "task/hgemm_task.h"
#include "tune_defaults.h"
#include "winners.h"

namespace warpsmith::cli {
namespace {

std::string TuneCommandOf(const TuneOptions& options) {
  return "warpsmith hgemm tune --shapes " + options.shapes + " " + ArgumentsOf(options.product) +
         " --proposer " + options.search.proposer + " --budget " + options.search.budget +
         " --seed " + std::to_string(options.search.seed) +
         (options.search.overlap ? "" : " --no-overlap") +
         (options.near.empty() ? "" : " --near " + options.near) +
         (options.search.cost_model.empty() ? "" : " --cost-model " + options.search.cost_model);
}

constexpr double kSecondsAShape = 1;  // contents, references, cuBLASLt's autotuning

// Seconds of the GPU, as measured on an H200: what every verdict costs, and about so many launches
// of the candidate and the bar beside it, each at half of what the tensor cores promise.
double SecondsOf(const Protocol& protocol, const task::HgemmShape& shape) {
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k);
  const double launch = flops / 500e12;
  return protocol.level == Level::kCertified ? 2.2 + 3000 * launch : 0.15 + 60 * launch;
}

// What a plan would cost, from the budget and what verdicts take.
Result<int> DryRun(const TuneOptions& options, const std::vector<task::HgemmShape>& shapes,
                   const hgemm::Catalogue& nearby, Machine& machine) {
  const Budget budget = TRY(ParseBudget(options.search.budget));
  const Task task = TaskOf(options.product);
  const bool replays = machine.recorded() != nullptr;
  std::vector<DryRunRow> rows;
  double seconds = 0;
  for (const task::HgemmShape& shape : shapes) {
    const SearchJob job =
        TRY(search::TuneSearch(machine, options.search, nearby, task, task::HgemmWorkload(shape)));
    const int64_t evaluations =
        std::min<int64_t>(budget.evaluations, static_cast<int64_t>(job.space.size()));
    const double each = replays ? 0.0005 : SecondsOf(SearchProtocol(), shape);
    seconds += std::min(budget.gpu_seconds, each * static_cast<double>(evaluations));
    if (!replays) {
      seconds += kSecondsAShape +
                 options.search.finalists * SecondsOf(FinalProtocol(options.search), shape);
    }
    rows.push_back({job.label, job.space.size(), evaluations});
  }
  PrintDryRun(rows, seconds, options.common.json);
  return 0;
}

struct Tuned {
  std::vector<SearchEnd> ends;
  bool stopped = false;  // before all shapes were done
};

Result<Tuned> TuneAll(const TuneOptions& options, const std::vector<task::HgemmShape>& shapes,
                      const hgemm::Catalogue& nearby, Machine& machine, const std::string& prefix) {
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const CallTime time(options.pace);
  const Task task = TaskOf(options.product);
  store::SqliteStore* store = TRY(machine.store());
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
    SearchContext context{&machine,
                          &options.search,
                          options.common.quiet ? nullptr : &line,
                          prefix + "/" + task::Name(shapes[i]),
                          TuneCommandOf(options),
                          time.Left()};
    tuned.stopped = time.IsOver();
    if (tuned.stopped) break;
    SearchJob job = TRY(ahead.Take());
    if (i + 1 < shapes.size()) TRY(begin(i + 1));
    job.label += " (" + std::to_string(i + 1) + "/" + std::to_string(shapes.size()) + ")";
    tuned.ends.push_back(TRY(Search(job, context)));
    line.Clear();
    const search::EndReason reason = tuned.ends.back().reason;
    tuned.stopped =
        reason == search::EndReason::kMaxSeconds || reason == search::EndReason::kInterrupted;
    if (tuned.stopped) break;
  }
  return tuned;
}

}  // namespace

Result<int> RunHgemmTune(const TuneOptions& given) {
  TuneOptions options = given;
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> all = TRY(task::ParseHgemmShapes(options.shapes));
  const std::vector<task::HgemmShape> shapes = search::TakeSlice(slice, all);
  options.search = TuneDefaults(options.search, all.size());
  TRY(ParseBudget(options.search.budget));
  // What the user named is looked at before a device is.
  if (!options.near.empty()) TRY(NearbyCatalogue(options.near, options.search.proposer, true));
  Machine machine = TRY(Machine::Open(options.device));
  const hgemm::Catalogue nearby =
      TRY(NearbyCatalogue(options.near, options.search.proposer, machine.recorded() != nullptr));
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  if (options.search.dry_run) return DryRun(options, shapes, nearby, machine);

  const std::string prefix = TRY(RunName(machine, options.search, "hgemm"));
  const Tuned tuned = TRY(TuneAll(options, shapes, nearby, machine, prefix));
  report::RunReport report;
  report.title = "HGEMM " + options.product.layout +
                 (options.product.dtype == "bf16" ? " BF16" : "") + ", " +
                 std::to_string(tuned.ends.size()) + " shapes";
  for (const SearchEnd& end : tuned.ends) report.shapes.push_back(end.report);
  report.origin = OriginOf(machine, tuned.ends, TuneCommandOf(options));
  if (options.compare_proposers) {
    report.proposers = TRY(search::CompareProposers(machine, options.search.cost_model));
  }
  TRY(Publish(report, options.files, options.common.json));
  if (options.compile_winners && machine.recorded() != nullptr && !options.common.json) {
    TRY(CompileWinners(machine, tuned.ends));
  }
  std::fflush(stdout);  // what follows is said after it, also where both go to one file
  if (!options.common.quiet && machine.recorded() == nullptr) {
    std::fprintf(stderr, "%s\n", machine.UseLine().c_str());
  }
  if (tuned.stopped) {
    std::fprintf(stderr, "stopped early; everything measured is kept: go on with --resume %s\n",
                 prefix.c_str());
    if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  } else if (!options.common.quiet) {
    std::fprintf(stderr, "runs: %s/*\n", prefix.c_str());
  }
  return ExitStatus(report, options.search.fail_on);
}

}  // namespace warpsmith::cli
