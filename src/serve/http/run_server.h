// `warpsmith serve`: a machine behind HTTP, put together.
#ifndef WARPSMITH_SERVE_HTTP_RUN_SERVER_H_
#define WARPSMITH_SERVE_HTTP_RUN_SERVER_H_

#include <functional>
#include <string>
#include <vector>

#include "core/reward.h"
#include "search/machine/machine.h"
#include "serve/http/access.h"

namespace warpsmith::serve {

struct RunServerOptions {
  search::DeviceOptions device;
  ListenAddress listen;
  std::string token;               // empty: none, on this machine alone
  std::vector<std::string> hosts;  // further names of this server
  std::vector<std::string> tasks;  // folders
  bool takes_tasks = false;        // clients' own, whose references run as the operator
  double step_limit_s = 0;         // of a candidate's step; 0: its protocol's
  RewardShape reward;
  size_t queue = 512;
  std::string ncu;
};

// Until Interrupted(): then what runs is ended and kept, and nothing new is taken on. `listening`
// is called once, with the port and where answers come from.
Status RunServer(const RunServerOptions& options,
                 const std::function<void(int port, const std::string& notice)>& listening);

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_RUN_SERVER_H_
