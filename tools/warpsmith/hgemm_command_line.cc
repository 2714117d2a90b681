// The command line of `warpsmith hgemm`.

#include "command_tree.h"
#include "commands.h"

namespace warpsmith::cli {
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

void AddShow(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand("show", "the space of a shape and what is known of it");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("shapes", options->shapes,
                      "MxNxK; more: only what each runs; none: list the recorded spaces");
  AddProduct(command, options->product);
  command->add_option("--catalogue", options->catalogue,
                      "why the shape got its kernel, from here; default: the shipped one");
  command->add_option("--top", options->top, "rows; 0: all")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunHgemmShow);
}

void AddFeatures(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand(
      "features", "what the cost model sees of kernels: lines of stdin, as CSV on stdout");
  auto options = std::make_shared<FeaturesOptions>();
  AddDevice(command, options->device);
  command->add_flag("--candidates", options->candidates,
                    "the kernels' sources and plans instead, as lines of a recording");
  command->footer("A line is MxNxK, NN or TN, and the kernel: 512x512x512 TN wgmma tile_m=64");
  Choose(command, chosen, options, RunHgemmFeatures);
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

void AddMake(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command =
      catalogue->add_subcommand("make", "of every shape tuned so far the kernel that is best");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("--store", options->store, "results database");
  command->add_option("--run", options->run, "of this tuning only");
  command->add_option("--out,-o", options->output, "the catalogue's file; -: stdout")->required();
  Choose(command, chosen, options, RunCatalogueMake);
}

void AddMerge(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command =
      catalogue->add_subcommand("merge", "several catalogues as one; the surest row of each shape");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("files", options->files, "catalogues")->required()->expected(1, 10'000);
  command->add_option("--out,-o", options->output, "the merged one's file; -: stdout")->required();
  Choose(command, chosen, options, RunCatalogueMerge);
}

void AddCheck(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "check", "can it be read, and are its kernels what this program would build");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("files", options->files, "catalogues")->required()->expected(1, 10'000);
  Choose(command, chosen, options, RunCatalogueCheck);
}

void AddGuard(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "guard", "choose anew between kernel and cuBLASLt, by what 'hgemm bench' measured");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("catalogue", options->catalogue, "the one that was measured")->required();
  command
      ->add_option("--bench", options->bench,
                   "CSVs of 'hgemm bench --against --catalogue'; without: what compared rows hold")
      ->expected(1, 10'000);
  command->add_option("--out,-o", options->output, "the catalogue's file; -: stdout")->required();
  command->add_flag("--strict", options->strict,
                    "cuBLASLt for rows that were not compared: their kernels may have failed");
  Choose(command, chosen, options, RunCatalogueGuard);
}

void AddPage(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "page", "which parameters won on which shapes, as one HTML page with plots");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("catalogue", options->catalogue, "the one to draw")->required();
  command->add_option("--bench", options->bench, "CSVs of 'hgemm bench --against --catalogue'")
      ->expected(1, 10'000);
  command->add_option("--html", options->html, "the page's file")->required();
  Choose(command, chosen, options, RunCataloguePage);
}

void AddBuild(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command =
      hgemm->add_subcommand("build", "compile a catalogue's kernels into the library's pack");
  auto options = std::make_shared<hgemm::BuildOptions>();
  command->add_option("--catalogue", options->catalogue, "what to build; default: the shipped one");
  command->add_option("--out,-o", options->output, "folder for gemm.wspack")->required();
  command->add_option("--shapes", options->shapes,
                      "these, as in 512x512x512,64x128x4096, and the rows that decide for those "
                      "without a row; default: all of the catalogue");
  command->add_option("--arch", options->architecture, "build for this GPU")->capture_default_str();
  command->add_option("--for-device", options->device, "rows that were measured on this one only");
  command->add_flag("--strict", options->strict,
                    "leave out kernels whose sources are not those that were measured");
  Choose(command, chosen, options, RunHgemmBuild);
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

void AddDispatch(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* catalogue = hgemm->add_subcommand("catalogue", "which kernel each shape gets, and why");
  catalogue->require_subcommand(1);
  AddMake(catalogue, chosen);
  AddMerge(catalogue, chosen);
  AddCheck(catalogue, chosen);
  AddGuard(catalogue, chosen);
  AddPage(catalogue, chosen);
  AddBuild(hgemm, chosen);
  AddAudit(hgemm, chosen);
}

}  // namespace

void AddHgemm(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* hgemm = app.add_subcommand("hgemm", "FP16 and BF16 matrix products");
  hgemm->require_subcommand(1);
  AddTune(hgemm, chosen);
  AddBench(hgemm, chosen);
  AddVerify(hgemm, chosen);
  AddShow(hgemm, chosen);
  AddFeatures(hgemm, chosen);
  AddDispatch(hgemm, chosen);
}

}  // namespace warpsmith::cli
