// The command line of `warpsmith serve`.
#include "argument_checks.h"
#include "command_tree.h"
#include "serve_options.h"

namespace warpsmith::cli {

void AddServe(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand(
      "serve", "judge candidates and score replies over HTTP, for training stacks");
  auto options = std::make_shared<ServeOptions>();
  command
      ->add_option("--listen", options->listen,
                   "HOST:PORT; port 0 takes a free one. Other machines get in with --token-file")
      ->capture_default_str();
  command->add_option("--token-file", options->token_file,
                      "a file with the token that every request has to give");
  command->add_option("--host", options->hosts,
                      "a further name of this server that requests may give (behind a proxy)");
  command->add_option("--task", options->tasks, "a task's folder, served by the task's name");
  command->add_flag("--client-tasks", options->client_tasks,
                    "judge tasks that clients send; their references run as you");
  command->add_option(
      "--reward", options->reward,
      "form=raw|eq3|smoothed|ordinal|log,alpha=0,beta=0,clip=3: where a request does "
      "not say");
  command
      ->add_option("--queue", options->queue,
                   "jobs that may wait; beyond, requests are answered 429")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--step-limit", options->step_limit_s,
                   "seconds that one step of a candidate may take before it is a hang; default: "
                   "10 for kernels, 60 for programs")
      ->check(CLI::Range(0.1, 600.0));
  command->add_option("--ncu", options->ncu, "Nsight Compute's program");
  AddOwnDevice(command, options->device);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([&chosen, options] { chosen.run = [options] { return RunServe(*options); }; });
}

}  // namespace warpsmith::cli
