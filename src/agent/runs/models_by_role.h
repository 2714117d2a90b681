// From what the command line says of models to the models.
#ifndef WARPSMITH_AGENT_RUNS_MODELS_BY_ROLE_H_
#define WARPSMITH_AGENT_RUNS_MODELS_BY_ROLE_H_

#include <memory>
#include <string>
#include <vector>

#include "agent/model_client.h"
#include "agent/runs/options.h"
#include "base/result.h"
#include "core/chat_model.h"
#include "core/step.h"

namespace warpsmith::agent {

struct AgentModels {
  std::vector<std::unique_ptr<ChatModel>> owned;
  agent::Models by_role;
  agent::PriceOf price;
  bool waits_for_answers = false;  // an exchange is among them
  std::string recording;           // a .wsrec: a run is to be replayed
};

// The recording that --model names (recorded:FILE.wsrec), or empty.
std::string RecordingIn(const AgentOptions& options);

// The first model that is a server's, as --model names it, or empty: what it writes is new.
std::string ServerIn(const AgentOptions& options);

// kUsage for a model or a role that is none; kConfig for a budget of tokens without --max-tokens,
// and one of money where a model has no price.
Result<AgentModels> OpenModels(const AgentOptions& options, const Budget& budget);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_MODELS_BY_ROLE_H_
