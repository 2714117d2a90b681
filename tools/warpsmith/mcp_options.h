// `warpsmith mcp`: one task, driven by a coding agent.
#ifndef WARPSMITH_TOOLS_MCP_OPTIONS_H_
#define WARPSMITH_TOOLS_MCP_OPTIONS_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

struct McpOptions {
  DeviceOptions device;
  std::string task, workload;
  std::string candidate;  // what the agent starts from; empty: it writes the first one
  std::string budget = "evals=200";
  std::string run, resume;  // as optimize's
  std::string knowledge;    // the base
  std::string ncu;
  uint64_t seed = 1;  // of draws from the base
  bool quiet = false;
};
Result<int> RunMcp(const McpOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_MCP_OPTIONS_H_
