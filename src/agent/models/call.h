// One call of a model server with its retries.
#ifndef WARPSMITH_AGENT_MODELS_CALL_H_
#define WARPSMITH_AGENT_MODELS_CALL_H_

#include <stop_token>
#include <string>

#include "agent/models/endpoint.h"
#include "agent/models/reply_reader.h"
#include "base/result.h"

namespace warpsmith::models {

struct Call {
  const Endpoint& endpoint;
  const std::string& key;  // empty: none is sent
  std::string body;        // RequestBody
};

// base_url + "/chat/completions", before a query if there is one.
std::string CompletionsUrl(const std::string& base_url);

// Errors as in client.h; they may repeat what the server said, the key too.
Result<ReadReply> Carry(const Call& call, const std::stop_token& stop);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_CALL_H_
