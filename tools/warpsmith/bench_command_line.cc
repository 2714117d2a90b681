// The options of `hgemm bench`.
#include <memory>

#include "argument_checks.h"
#include "command_tree.h"
#include "commands.h"

namespace warpsmith::cli {
namespace {

void AddChoose(CLI::App* command, BenchOptions& options) {
  CLI::Option* choose = command->add_flag(
      "--choose", options.choose,
      "only choose the bar, shape by shape in each mode, and keep it; goes on where it ended");
  command
      ->add_option("--exhaustive", options.exhaustive_seconds,
                   "with --choose: list all that cuBLASLt can be configured to for so many seconds "
                   "a shape, and time what that gives")
      ->check(CheckSeconds)
      ->needs(choose);
  for (const char* other : {"--against", "--catalogue", "--paper-protocol", "--reference"}) {
    choose->excludes(command->get_option(other));
  }
}

}  // namespace

void AddBench(CLI::App* hgemm, Chosen& chosen) {
  CLI::App* command = hgemm->add_subcommand("bench", "measure cuBLAS, cuBLASLt and torch");
  auto options = std::make_shared<BenchOptions>();
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
  command->add_option("--reference", options->reference,
                      "CSV of known times (m,n,k,...): differences over 10 % are listed");
  command->add_option("--reference-column", options->reference_column, "its time's column")
      ->capture_default_str();
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
  command->get_option("--paper-protocol")
      ->excludes(from)
      ->excludes(command->get_option("--reference"));
  command->add_flag("--markdown", options->markdown, "the summary as Markdown tables");
  Choose(command, chosen, options, RunHgemmBench);
}

}  // namespace warpsmith::cli
