// The agent's part of the command line. Included by the files that know CLI11 alone.
#ifndef WARPSMITH_TOOLS_AGENT_COMMAND_LINE_H_
#define WARPSMITH_TOOLS_AGENT_COMMAND_LINE_H_

#include <CLI/CLI.hpp>

#include "agent/runs/options.h"

namespace warpsmith::cli {

void AddAgent(CLI::App* command, agent::AgentOptions& agent);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGENT_COMMAND_LINE_H_
