#include <cstdio>

#include "base/interrupt.h"
#include "commands.h"
#include "hgemm/bench/catalogues.h"
#include "search.h"
#include "search/slice.h"
#include "search/tuning/proposer_comparison.h"

namespace warpsmith::cli {

Result<int> RunHgemmTune(const TuneOptions& given) {
  TuneOptions options = given;
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> all = TRY(task::ParseHgemmShapes(options.shapes));
  const std::vector<task::HgemmShape> shapes = search::TakeSlice(slice, all);
  options.search = hgemm::TuneDefaults(options.search, all.size());
  TRY(ParseBudget(options.search.budget));
  // What the user named is looked at before a device is.
  if (!options.near.empty())
    TRY(hgemm::NearbyCatalogue(options.near, options.search.proposer, true));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  const hgemm::Catalogue nearby = TRY(
      hgemm::NearbyCatalogue(options.near, options.search.proposer, machine.recorded() != nullptr));
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  if (options.search.dry_run) {
    PrintDryRun(TRY(hgemm::PlanTuning(machine, options, shapes, nearby)), options.common.json);
    return 0;
  }

  const std::string prefix = TRY(search::RunName(machine, options.search, "hgemm"));
  const hgemm::Tuned tuned = TRY(hgemm::TuneAll(machine, options, shapes, nearby, prefix));
  report::RunReport report;
  report.title = "HGEMM " + options.product.layout +
                 (options.product.dtype == "bf16" ? " BF16" : "") + ", " +
                 std::to_string(tuned.ends.size()) + " shapes";
  for (const search::SearchEnd& end : tuned.ends) report.shapes.push_back(end.report);
  report.origin = OriginOf(machine, tuned.ends, hgemm::TuneCommandOf(options));
  if (options.compare_proposers) {
    report.proposers = TRY(search::CompareProposers(machine, options.search.cost_model));
  }
  TRY(Publish(report, options.files, options.common.json));
  if (options.compile_winners && machine.recorded() != nullptr && !options.common.json) {
    TRY(CompileWinners(machine, tuned.ends));
  }
  std::fflush(stdout);  // what follows is said after it, also where both go to one file
  if (!options.common.quiet && machine.local() != nullptr) {
    std::fprintf(stderr, "%s\n", machine.UseLine().c_str());
  }
  if (tuned.stopped) {
    std::fprintf(stderr, "stopped early; everything measured is kept: go on with --resume %s\n",
                 prefix.c_str());
    if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  } else if (!options.common.quiet) {
    std::fprintf(stderr, "runs: %s/*; a kernel: warpsmith export %s -o best\n", prefix.c_str(),
                 tuned.ends.front().run.c_str());
  }
  return ExitStatus(report, options.search.fail_on);
}

}  // namespace warpsmith::cli
