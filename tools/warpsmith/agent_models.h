// From what the command line says of models to the models.
#ifndef WARPSMITH_TOOLS_AGENT_MODELS_H_
#define WARPSMITH_TOOLS_AGENT_MODELS_H_

#include <memory>
#include <string>
#include <vector>

#include "agent/asker.h"
#include "agent_options.h"
#include "base/result.h"
#include "core/chat_model.h"
#include "core/step.h"

namespace warpsmith::cli {

struct AgentModels {
  std::vector<std::unique_ptr<ChatModel>> owned;
  agent::Models by_role;
  agent::PriceOf price;
  bool waits_for_answers = false;  // an exchange is among them
  std::string recording;           // a .wsrec: a run is to be replayed
};

// The recording that --model names (recorded:FILE.wsrec), or empty.
std::string RecordingIn(const AgentOptions& options);

// kUsage for a model or a role that is none; kConfig for a budget of tokens without --max-tokens,
// and one of money where a model has no price.
Result<AgentModels> OpenModels(const AgentOptions& options, const Budget& budget);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGENT_MODELS_H_
