// The command line of `warpsmith mcp`.
#include "argument_checks.h"
#include "command_tree.h"
#include "mcp_options.h"

namespace warpsmith::cli {

void AddMcp(CLI::App& app, Chosen& chosen) {
  CLI::App* command =
      app.add_subcommand("mcp", "serve a task to a coding agent (Model Context Protocol, stdio)");
  auto options = std::make_shared<McpOptions>();
  command->add_option("task", options->task, kTaskHelp)->required();
  command->add_option("--candidate", options->candidate, "the kernel that the agent starts from");
  command->add_option("--workload", options->workload, "by name; default: the first");
  command->add_option("--budget", options->budget, "evals=N,gpu=30s,time=10m,tokens=1e6,money=5")
      ->capture_default_str();
  CLI::Option* run = command->add_option("--run", options->run, "name of the run");
  command->add_option("--resume", options->resume, "go on with this run")->excludes(run);
  command->add_option("--knowledge", options->knowledge,
                      "the base; default: knowledge.db in the data folder");
  command->add_option("--seed", options->seed, "of draws from the base")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  command->add_option("--ncu", options->ncu, "Nsight Compute's program");
  AddDevice(command, options->device);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([&chosen, options] { chosen.run = [options] { return RunMcp(*options); }; });
}

}  // namespace warpsmith::cli
