#include <csignal>
#include <cstdio>

#include "serve/http/run_server.h"
#include "serve_options.h"

namespace warpsmith::cli {

Result<int> RunServe(const ServeOptions& options) {
  serve::RunServerOptions running;
  running.device = options.device;
  running.listen = TRY(serve::ReadListenAddress(options.listen));
  running.hosts = options.hosts;
  running.tasks = options.tasks;
  running.takes_tasks = options.client_tasks;
  running.reward = TRY(ParseRewardShape(options.reward));
  running.queue = options.queue;
  running.step_limit_s = options.step_limit_s;
  running.ncu = options.ncu;
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
    if (!options.quiet) std::fprintf(stderr, "%s\n", notice.c_str());
  }));
  return 0;
}

}  // namespace warpsmith::cli
