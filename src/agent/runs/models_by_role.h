// What the command line says of a run of the agent, and the models that it names.
#ifndef WARPSMITH_AGENT_RUNS_MODELS_BY_ROLE_H_
#define WARPSMITH_AGENT_RUNS_MODELS_BY_ROLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/model_client.h"
#include "base/result.h"
#include "core/chat_model.h"
#include "core/step.h"
#include "search/call_time.h"
#include "search/tuning/search.h"

namespace warpsmith::agent {

// --- What `optimize --proposer agent` is told, as plain values.

struct AgentOptions {
  // "[role=]openai:MODEL@URL", "[role=]endpoint:FILE", "[role=]exchange:DIR", "recorded:FILE".
  std::vector<std::string> models;
  std::string key_variable;  // of openai: models; empty: OPENAI_API_KEY, to OpenAI's own server
  bool plain_http = false;   // http to other machines, too
  std::string prices;        // JSON file
  std::optional<double> temperature, top_p;
  std::optional<int64_t> max_tokens, sampling_seed;

  std::string knowledge;  // the base; empty: the user's
  std::string documents;  // a folder to search
  bool no_memory = false, cycles_only = false, minimal = false, contrastive = false;
  int breadth = 4, depth = 6, top_k = 1, repairs = 2;
  std::string ask = "auto";  // states,reviews,doubts; none; auto
  std::string form;          // kernel, program; empty: the starting kernel's, or the task's first
  std::string parts;         // a folder of the task's parts; the first kernel is joined from theirs
  std::string record;        // a .wsrec to write when the run has ended
};

// What a run is told, whatever it is about.
struct RunOptions {
  search::PaceOptions pace;
  search::SearchOptions search;
  AgentOptions agent;
  std::string candidate;  // the kernel to start from; empty: none
  bool quiet = false;     // nothing is said on stderr
};

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
