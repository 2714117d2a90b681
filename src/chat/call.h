// One call of a model server with its retries.
#ifndef WARPSMITH_CHAT_CALL_H_
#define WARPSMITH_CHAT_CALL_H_

#include <stop_token>
#include <string>

#include "chat/endpoint.h"
#include "chat/reply_reader.h"
#include "util/result.h"

namespace warpsmith::chat {

struct Call {
  const Endpoint& endpoint;
  const std::string& key;  // empty: none is sent
  std::string body;        // RequestBody
};

// base_url + "/chat/completions", before a query if there is one.
std::string CompletionsUrl(const std::string& base_url);

// Errors as in client.h; they may repeat what the server said, the key too.
Result<ReadReply> Carry(const Call& call, const std::stop_token& stop);

}  // namespace warpsmith::chat

#endif  // WARPSMITH_CHAT_CALL_H_
