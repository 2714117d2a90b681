// What judges many kernels: `hgemm tune`, `bench`, `verify` and `audit`, and `record`.

#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "command_tree.h"
#include "commands.h"
#include "core/device.h"
#include "hgemm/bench/audit.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/contest.h"
#include "hgemm/bench/measurement_file.h"
#include "hgemm/bench/primary_choices.h"
#include "hgemm/bench/record.h"
#include "search/call_time.h"
#include "search/tuning/proposer_comparison.h"

namespace warpsmith::cli {
namespace {

void Print(const hgemm::MeasurementTable& table, const hgemm::BenchOptions& options) {
  if (options.common.json) {
    std::printf("%s\n", JsonText(hgemm::ToJson(table), 1).c_str());
  } else {
    using Style = hgemm::TableStyle;
    const Style style = options.markdown ? Style::kMarkdown : Style::kPlain;
    std::printf("%s", LinesForTerminal(hgemm::SummaryText(table, style)).c_str());
  }
}

// The comparisons in options.from, joined; with --csv they are written as one. Needs no GPU.
Result<int> SummariseComparisons(const hgemm::BenchOptions& options) {
  std::vector<hgemm::NamedMeasurements> parts;
  for (const std::string& path : options.from) {
    parts.push_back(TRY(hgemm::ReadMeasurementFile(path)));
  }
  const hgemm::MeasurementTable table = TRY(hgemm::Join(parts));
  if (!options.csv.empty()) TRY(hgemm::WriteJoined(parts, table, options.csv));
  Print(table, options);
  return 0;
}

// A row a shape and mode on stdout, or in --csv.
Result<int> ChoosePrimary(const hgemm::BenchOptions& options) {
  search::Machine machine = TRY(search::Machine::Open(options.device));
  TRY(machine.NeedsLocal("choosing the primary baseline needs"));
  const std::vector<hgemm::Primaries> all = TRY(hgemm::ChoosePrimaries(machine, options));
  if (options.common.json) std::printf("%s\n", JsonText(hgemm::JsonOf(all), 1).c_str());
  std::string text = "# " + ProvenanceText(machine.info(), options.common.command) + "\n";
  text += hgemm::kPrimaryColumns;
  for (const hgemm::Primaries& primaries : all)
    text += hgemm::RowsOf(primaries, options.product.dtype);
  if (!options.csv.empty()) {
    TRY(WriteFileAtomic(options.csv, text));
  } else if (!options.common.json) {
    std::printf("%s", text.c_str());
  }
  return StatusNow();
}

// A table of the other kind must not be taken for one to go on with.
Status CheckPlace(const hgemm::BenchOptions& options) {
  if (options.csv.empty() || !options.against.empty()) return {};
  const auto there = hgemm::ReadMeasurementFile(options.csv);
  if (!there.ok() || !there->table.is_comparison()) return {};
  return Error{ErrorCode::kConfig, options.csv + " holds a comparison of libraries",
               "give --against its library to go on with it, or --csv another name"};
}

Result<int> RunHgemmVerify(const hgemm::VerifyOptions& options) {
  const hgemm::Verified verified = TRY(hgemm::Verify(options));
  std::printf("%ld of %zu kernels judged on %zu shapes: %ld passed, %ld failed\n",
              static_cast<long>(verified.judged), verified.kernels, verified.shapes,
              static_cast<long>(verified.judged - verified.failed),
              static_cast<long>(verified.failed));
  if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  return verified.failed > 0 ? 1 : 0;
}

Result<int> RunHgemmAudit(const hgemm::AuditOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<hgemm::Watched> watches =
      search::TakeSlice(slice, hgemm::WatchesOf(TRY(hgemm::ReadCatalogue(options.catalogue))));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  TRY(machine.NeedsLocal("sanitizers need"));
  hgemm::AuditFindings findings;
  TRY(hgemm::Audit(machine, watches, options, findings));
  if (options.common.json) {
    PrintDocument("hgemm-audit", {{"runs", watches.size()},
                                  {"clean", findings.clean() + findings.known()},
                                  {"known", findings.known()},
                                  {"found", findings.convicted()},
                                  {"absent", findings.absent()}});
  } else {
    std::printf(
        "%d of %zu runs: %d clean now, %d known to be, %d with findings, %d not watched to their "
        "end\n",
        findings.done(), watches.size(), findings.clean(), findings.known(), findings.convicted(),
        findings.absent());
  }
  if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  return findings.clean() + findings.known() == static_cast<int>(watches.size()) ? 0 : 1;
}

Result<int> RunRecording(const hgemm::RecordOptions& options) {
  search::Machine machine = TRY(search::Machine::Open(options.device));
  if (!options.dry_run) TRY(machine.NeedsLocal("recording needs"));
  const std::vector<search::SearchJob> jobs = TRY(hgemm::JobsToRecord(machine, options));
  if (options.dry_run) {
    std::vector<hgemm::PlannedSearch> plan;
    for (const search::SearchJob& job : jobs) {
      const size_t points = job.space.size();
      plan.push_back({job.label, points, static_cast<int64_t>(points),
                      hgemm::kSecondsAScreenedVerdict * static_cast<double>(points)});
    }
    PrintDryRun(plan, options.common.json);
    return 0;
  }
  const hgemm::Recorded recorded = TRY(hgemm::Record(machine, options, jobs));
  std::printf("%s: %ld verdicts%s\n", options.output.c_str(), static_cast<long>(recorded.verdicts),
              recorded.done ? "" : "; stopped early: the same command goes on");
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.UseLine().c_str());
  return StatusNow();
}

Result<int> RunHgemmBench(const hgemm::BenchOptions& options) {
  if (!options.from.empty()) return SummariseComparisons(options);
  if (options.choose) return ChoosePrimary(options);
  if (options.markdown && options.against.empty()) {
    return Error{ErrorCode::kUsage, "--markdown is for the summary of a comparison",
                 "give --against or --from with it"};
  }
  TRY(CheckPlace(options));
  Print(TRY(hgemm::Bench(options)), options);
  return StatusNow();
}

}  // namespace

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

namespace {

// How thorough a tuning is without being told depends on how many shapes there are.
void SetTuneDefaults(CLI::App* tune, search::SearchOptions& search) {
  search = hgemm::UnsetTuneOptions();
  const std::string many = "; of more than " + std::to_string(hgemm::kFewShapes) + " shapes: ";
  tune->get_option("--proposer")->default_str("guided" + many + "brief");
  tune->get_option("--budget")->default_str("evals=160" + many + "evals=24");
  tune->get_option("--finalists")->default_str("3" + many + "0");
  tune->get_option("--batch")->default_str("8" + many + "4");
}

void AddTune(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command =
      hgemm->add_subcommand("tune", "find the fastest correct kernel for each shape");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("--shapes,--grid", options->shapes, "MxNxK,... or demo, paper")
      ->capture_default_str();
  command->add_option("--near", options->near,
                      "begin with this catalogue's kernels of the shape and of shapes nearby; "
                      "none; default: the shipped one's, but in a replay");
  command->add_option("--cost-model", options->search.cost_model,
                      "rank by this model, which tools/study/fit_model.py wrote");
  command->add_flag("--compile-winners", options->compile_winners,
                    "when replaying a recording, build the winners for real");
  command->add_flag("--compare-proposers", options->compare_proposers,
                    "compare the proposers on the recorded spaces");
  command->add_flag("!--no-overlap", options->search.overlap,
                    "only kernels that begin when the call ahead has ended");
  AddTuneLike(command, *options);
  SetTuneDefaults(command, options->search);
  Choose(command, chosen, options, RunHgemmTune);
}

void AddVerify(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand(
      "verify", "is every kernel family right on every shape, on this GPU and driver");
  auto options = std::make_shared<hgemm::VerifyOptions>();
  command->add_option("--shapes,--grid", options->shapes, "MxNxK,... or demo, paper")
      ->capture_default_str();
  command->add_option("--layout", options->product.layout, "NN, TN or both")
      ->check(CLI::IsMember({"NN", "TN", "both"}))
      ->capture_default_str();
  AddDType(command, options->product, {"f16", "bf16", "both"});
  command->add_option("--catalogue", options->catalogue,
                      "the kernels of this catalogue instead: after a new driver, on another GPU");
  command->add_option("--csv", options->csv, "write a row a kernel here, over what is there");
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  Choose(command, chosen, options, RunHgemmVerify);
}

void AddChoose(CLI::App* command, hgemm::BenchOptions& options) {
  CLI::Option* choose = command->add_flag(
      "--choose", options.choose,
      "only choose the bar, shape by shape in each mode, and keep it; goes on where it ended");
  command
      ->add_option("--exhaustive", options.exhaustive_seconds,
                   "with --choose: list all that cuBLASLt can be configured to for so many seconds "
                   "a shape, and time what that gives")
      ->check(CheckSeconds)
      ->needs(choose);
  for (const char* other : {"--against", "--catalogue", "--paper-protocol"}) {
    choose->excludes(command->get_option(other));
  }
}

void AddBench(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand("bench", "measure cuBLAS, cuBLASLt and torch");
  auto options = std::make_shared<hgemm::BenchOptions>();
  command->add_option("--shapes,--grid", options->shapes, "MxNxK,... or demo, paper")
      ->capture_default_str();
  command->add_option("--against", options->against,
                      "compare this library (docs/library.md) with cuBLASLt; trusted code only");
  command->add_option("--catalogue", options->catalogue,
                      "measure the kernels of this catalogue alone, too");
  command
      ->add_flag("--paper-protocol", options->paper_protocol,
                 "by CUDA-L2's 10 s warm-up and 30 s of timing: offline and server")
      ->excludes(command->get_option("--against"));
  command->add_option("--layout", options->product.layout, "with --against: NN or TN")
      ->check(CLI::IsMember({"NN", "TN"}))
      ->capture_default_str();
  AddDType(command, options->product);
  command->add_flag("!--no-torch", options->torch, "leave torch.matmul out");
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  command->add_option("--csv", options->csv,
                      "write the rows here as they come, and go on where they ended");
  command
      ->add_option("--beside", options->beside,
                   "with --against: NVIDIA's other ways beside the bar on one shape in so many; 0: "
                   "none, and no headline")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  AddChoose(command, *options);
  auto* from = command->add_option("--from", options->from,
                                   "summarise these CSVs of --against, or join them in --csv's");
  from->expected(1, 10'000)->excludes(command->get_option("--against"));
  command->get_option("--paper-protocol")->excludes(from);
  command->add_flag("--markdown", options->markdown, "the summary as Markdown tables");
  Choose(command, chosen, options, RunHgemmBench);
}

void AddAudit(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand(
      "audit", "memcheck of every configuration of a catalogue, racecheck of every family");
  auto options = std::make_shared<hgemm::AuditOptions>();
  command->add_option("--catalogue", options->catalogue, "whose chosen kernels")->required();
  command->add_option("--csv", options->csv,
                      "write a row a run here; what is clean there already is not run again");
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  Choose(command, chosen, options, RunHgemmAudit);
}

}  // namespace

void AddRecord(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("record", "measure whole spaces into a recording");
  auto options = std::make_shared<hgemm::RecordOptions>();
  command->add_option("output", options->output, "the .wsrec file to write or go on with")
      ->required();
  CLI::Option* shapes =
      command->add_option("--shapes,--grid", options->shapes, "MxNxK,... or demo, paper");
  shapes->capture_default_str();
  CLI::Option* task =
      command->add_option("--task", options->task, "instead of shapes: a task's folder");
  task->excludes(shapes);
  command
      ->add_option("--candidate", options->candidates,
                   "of the task, each with all points of its tunables")
      ->needs(task);
  AddProduct(command, options->product);
  command->add_option("--limit", options->limit, "points a shape, neighbour-closed; 0: all")
      ->check(CheckWholeNumber);
  command
      ->add_option("--other-modes", options->other_modes, "measure all modes of the best so many")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  command->add_flag("--dry-run", options->dry_run, "count and estimate only");
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  Choose(command, chosen, options, RunRecording);
}

void AddHgemm(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* hgemm = app.add_subcommand("hgemm", "FP16 and BF16 matrix products");
  hgemm->require_subcommand(1);
  AddTune(hgemm, chosen);
  AddBench(hgemm, chosen);
  AddVerify(hgemm, chosen);
  AddHgemmShow(hgemm, chosen);
  AddHgemmFeatures(hgemm, chosen);
  AddHgemmCatalogue(hgemm, chosen);
  AddAudit(hgemm, chosen);
}

}  // namespace warpsmith::cli
