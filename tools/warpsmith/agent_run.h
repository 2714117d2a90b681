// `warpsmith optimize --proposer agent`: a language model writes the kernels.
#ifndef WARPSMITH_TOOLS_AGENT_RUN_H_
#define WARPSMITH_TOOLS_AGENT_RUN_H_

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

Result<int> RunAgent(const OptimizeOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGENT_RUN_H_
