// The command line of `warpsmith hgemm catalogue`, `hgemm build` and `hgemm audit`.
#include "command_tree.h"
#include "dispatch_commands.h"

namespace warpsmith::cli {
namespace {

void AddMake(CLI::App* catalogue, Chosen& chosen) {
  CLI::App* command =
      catalogue->add_subcommand("make", "of every shape tuned so far the kernel that is best");
  auto options = std::make_shared<CatalogueMakeOptions>();
  command->add_option("--store", options->store, "results database");
  command->add_option("--run", options->run, "of this tuning only");
  command->add_option("--out,-o", options->output, "the catalogue's file; -: stdout")->required();
  Choose(command, chosen, options, RunCatalogueMake);
}

void AddMerge(CLI::App* catalogue, Chosen& chosen) {
  CLI::App* command =
      catalogue->add_subcommand("merge", "several catalogues as one; the surest row of each shape");
  auto options = std::make_shared<CatalogueMergeOptions>();
  command->add_option("files", options->files, "catalogues")->required()->expected(1, 10'000);
  command->add_option("--out,-o", options->output, "the merged one's file; -: stdout")->required();
  Choose(command, chosen, options, RunCatalogueMerge);
}

void AddCheck(CLI::App* catalogue, Chosen& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "check", "can it be read, and are its kernels what this program would build");
  auto options = std::make_shared<CatalogueCheckOptions>();
  command->add_option("files", options->files, "catalogues")->required()->expected(1, 10'000);
  Choose(command, chosen, options, RunCatalogueCheck);
}

void AddGuard(CLI::App* catalogue, Chosen& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "guard", "choose anew between kernel and cuBLASLt, by what 'hgemm bench' measured");
  auto options = std::make_shared<CatalogueGuardOptions>();
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

void AddPage(CLI::App* catalogue, Chosen& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "page", "which parameters won on which shapes, as one HTML page with plots");
  auto options = std::make_shared<CataloguePageOptions>();
  command->add_option("catalogue", options->catalogue, "the one to draw")->required();
  command->add_option("--bench", options->bench, "CSVs of 'hgemm bench --against --catalogue'")
      ->expected(1, 10'000);
  command->add_option("--html", options->html, "the page's file")->required();
  Choose(command, chosen, options, RunCataloguePage);
}

void AddBuild(CLI::App* hgemm, Chosen& chosen) {
  CLI::App* command =
      hgemm->add_subcommand("build", "compile a catalogue's kernels into the library's pack");
  auto options = std::make_shared<BuildOptions>();
  command->add_option("--catalogue", options->catalogue, "what to build")->required();
  command->add_option("--out,-o", options->output, "folder for gemm.wspack")->required();
  command->add_option("--arch", options->architecture, "build for this GPU")->capture_default_str();
  command->add_option("--for-device", options->device, "rows that were measured on this one only");
  command->add_flag("--strict", options->strict,
                    "leave out kernels whose sources are not those that were measured");
  Choose(command, chosen, options, RunHgemmBuild);
}

void AddAudit(CLI::App* hgemm, Chosen& chosen) {
  CLI::App* command = hgemm->add_subcommand(
      "audit", "memcheck of every configuration of a catalogue, racecheck of every family");
  auto options = std::make_shared<HgemmAuditOptions>();
  command->add_option("--catalogue", options->catalogue, "whose chosen kernels")->required();
  command->add_option("--csv", options->csv,
                      "write a row a run here; what is clean there already is not run again");
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  Choose(command, chosen, options, RunHgemmAudit);
}

}  // namespace

void AddDispatch(CLI::App* hgemm, Chosen& chosen) {
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

}  // namespace warpsmith::cli
