// What `optimize --proposer agent` is told, as plain values.
#ifndef WARPSMITH_AGENT_RUNS_OPTIONS_H_
#define WARPSMITH_AGENT_RUNS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/call_time.h"
#include "search/tuning/search.h"

namespace warpsmith::agent {

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

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_OPTIONS_H_
