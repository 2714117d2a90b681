// One HTTP POST, which can be given up at any moment.
#ifndef WARPSMITH_AGENT_MODELS_HTTP_H_
#define WARPSMITH_AGENT_MODELS_HTTP_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace warpsmith::models {

struct HttpPost {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  std::chrono::milliseconds connect_limit{5'000}, total_limit{600'000};
  size_t max_reply_bytes = size_t{50} << 20;
  // Takes the body of a 200 as it comes (then HttpReply::body stays empty). An Error ends the call.
  std::function<Status(std::string_view)> on_body;
  // Asked after each piece: the reply is whole, whether or not the server ends the connection.
  std::function<bool()> is_whole;
};

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // any bytes
};

// The server was not reached, or fell silent in the middle: another attempt may help.
struct ConnectionLost {
  std::string reason;
};

using HttpOutcome = std::variant<HttpReply, ConnectionLost>;

// Redirections are not followed: they could carry the key elsewhere. kTimeout after total_limit;
// kInterrupted when `stop` is requested or on Ctrl-C, within 0.1 s; kBadInput when the reply is too
// large; kConfig when the URL is none; kUnavailable without libcurl. Thread-safe.
Result<HttpOutcome> Post(const HttpPost& post, const std::stop_token& stop);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_HTTP_H_
