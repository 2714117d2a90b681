// `warpsmith serve`: the judge over HTTP.
#ifndef WARPSMITH_TOOLS_SERVE_OPTIONS_H_
#define WARPSMITH_TOOLS_SERVE_OPTIONS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

struct ServeOptions {
  search::DeviceOptions device;
  std::string listen = "127.0.0.1:8321";
  std::string token_file, reward, ncu;
  std::vector<std::string> hosts, tasks;
  bool client_tasks = false, quiet = false;
  size_t queue = 512;
  double step_limit_s = 0;
};
Result<int> RunServe(const ServeOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_SERVE_OPTIONS_H_
