// Asks a model server that speaks OpenAI's chat completions.
#ifndef WARPSMITH_AGENT_MODELS_CLIENT_H_
#define WARPSMITH_AGENT_MODELS_CLIENT_H_

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "agent/models/endpoint.h"
#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

// One call of a model server with its retries.

// Server-sent events (HTML standard, section 9.2.6), as streaming chat servers use them.
struct ServerEvent {
  std::string name;  // of the "event" field; mostly empty
  std::string data;  // lines joined by newlines; any bytes
  bool operator==(const ServerEvent&) const = default;
};

// Takes a stream in pieces of any size: the events do not depend on where it was cut. Holds at most
// one event; whoever feeds it bounds the whole stream.
class ServerEventParser {
 public:
  std::vector<ServerEvent> Feed(std::string_view bytes);
  // The end of the stream. The standard drops an event that no blank line ends; many servers leave
  // the last blank line out, so it is given.
  std::vector<ServerEvent> Finish();

 private:
  void TakeLine(std::string_view line, std::vector<ServerEvent>* events);
  void Dispatch(std::vector<ServerEvent>* events);

  std::string line_;
  bool after_return_ = false;  // a newline now belongs to the line before
  bool first_line_ = true;     // which may begin with a byte order mark
  bool has_data_ = false;
  ServerEvent event_;
};

struct Call {
  const Endpoint& endpoint;
  const std::string& key;  // empty: none is sent
  std::string body;        // RequestBody
};

// base_url + "/chat/completions", before a query if there is one.
std::string CompletionsUrl(const std::string& base_url);

// Errors as in client.h; they may repeat what the server said, the key too.
Result<ReadReply> Carry(const Call& call, const std::stop_token& stop);

// Takes the key from the environment now. It is sent to the endpoint only: where a server repeats
// it, errors and replies say [key].
//
// kConfig: no key where one is named, or the address is none; kUnavailable: no libcurl.
// Complete: kPermission, the server does not take the key; kConfig, it does not know the address,
// the model or a field; kUnavailable, it cannot be reached or fails, after the retries; kTimeout;
// kBadInput, what it answers is no reply; kInterrupted, when `stop` is requested or on Ctrl-C.
Result<std::unique_ptr<ChatModel>> ConnectTo(Endpoint endpoint, std::stop_token stop = {});

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_CLIENT_H_
