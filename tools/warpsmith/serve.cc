// `warpsmith serve`: the judge over HTTP, with its command line.

#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "base/result.h"
#include "command_tree.h"
#include "serve/http/run_server.h"
#include "store/database.h"

namespace warpsmith::cli {
namespace {

struct ServeOptions {
  serve::RunServerOptions server;
  std::string listen = "127.0.0.1:8321";
  std::string token_file, reward;
  bool quiet = false;
};

constexpr int kHeapStepBytes = 16 << 20;

Result<int> RunServe(const ServeOptions& options) {
  // Threads that read recordings would grow their heaps by a system call a page.
  mallopt(M_TOP_PAD, kHeapStepBytes);
  serve::RunServerOptions running = options.server;
  running.listen = TRY(serve::ReadListenAddress(options.listen));
  running.reward = TRY(ParseRewardShape(options.reward));
  if (!options.token_file.empty()) running.token = TRY(search::ReadTokenFile(options.token_file));
  if (running.token.empty() && !running.listen.is_loopback()) {
    return Error{ErrorCode::kUsage,
                 "--listen " + options.listen + " lets other machines in without a token",
                 "name a file with one: --token-file FILE"};
  }
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is no end of the server
  TRY(serve::RunServer(running, [&](int port, const std::string& notice) {
    const std::string& host = running.listen.host;
    const bool is_v6 = host.find(':') != std::string::npos;
    std::printf("listening on http://%s:%d\n", is_v6 ? ("[" + host + "]").c_str() : host.c_str(),
                port);
    std::fflush(stdout);
    const std::string kept = store::ShownDatabase(search::StorePath(running.device.store));
    if (!options.quiet) {
      std::fprintf(stderr, "%s\nverdicts are kept in %s\n", notice.c_str(), kept.c_str());
    }
  }));
  return 0;
}

}  // namespace

void AddServe(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand(
      "serve", "judge candidates and score replies over HTTP, for training stacks");
  auto options = std::make_shared<ServeOptions>();
  command
      ->add_option("--listen", options->listen,
                   "HOST:PORT; port 0 takes a free one. Other machines get in with --token-file")
      ->capture_default_str();
  command->add_option("--token-file", options->token_file,
                      "a file with the token that every request has to give");
  command->add_option("--host", options->server.hosts,
                      "a further name of this server that requests may give (behind a proxy)");
  command->add_option("--task", options->server.tasks,
                      "a task's folder, served by the task's name");
  command->add_flag("--client-tasks", options->server.takes_tasks,
                    "judge tasks that clients send; their references run as you");
  command->add_option(
      "--reward", options->reward,
      "form=raw|eq3|smoothed|ordinal|log,alpha=0,beta=0,clip=3: where a request does "
      "not say");
  command
      ->add_option("--queue", options->server.queue,
                   "jobs that may wait; beyond, requests are answered 429")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--step-limit", options->server.step_limit_s,
                   "seconds that one step of a candidate may take before it is a hang; default: "
                   "10 for kernels, 60 for programs")
      ->check(CLI::Range(0.1, 600.0));
  command->add_option("--ncu", options->server.ncu, "Nsight Compute's program");
  AddOwnDevice(command, options->server.device);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([&chosen, options] { chosen.run = [options] { return RunServe(*options); }; });
}

}  // namespace warpsmith::cli
