// HTTP as a client: one request, which can be given up at any moment; and when to ask again.
#ifndef WARPSMITH_BASE_HTTP_H_
#define WARPSMITH_BASE_HTTP_H_

#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace warpsmith {

// Of "https://HOST:PORT/...".
struct HttpAddress {
  bool is_secure = false;
  std::string host;  // in lower case and without the brackets of an IPv6 address
  // Nobody else can read what is sent there: it is https, or http to this very machine.
  bool is_private() const;
};
// kConfig: neither http nor https, no host, or a name and password in it (errors show addresses).
Result<HttpAddress> ReadHttpAddress(const std::string& url);

struct HttpCall {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::optional<std::string> body;   // of a POST; without one it is a GET
  std::chrono::milliseconds connect_limit{5'000}, total_limit{600'000};
  size_t max_reply_bytes = size_t{50} << 20;
  bool heeds_interrupt = true;  // Ctrl-C ends it
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

// Keeps connections open between its calls. Belongs to one thread.
class HttpClient {
 public:
  static Result<HttpClient> Open();  // kUnavailable without libcurl

  // Redirections are not followed: they could carry a key elsewhere. kTimeout after total_limit;
  // kInterrupted when `stop` is requested or on Ctrl-C, within 0.1 s; kBadInput when the reply is
  // too large; kConfig when the URL is none.
  Result<HttpOutcome> Send(const HttpCall& call, const std::stop_token& stop = {});

 private:
  explicit HttpClient(std::shared_ptr<void> connections) : connections_(std::move(connections)) {}
  std::shared_ptr<void> connections_;  // libcurl's multi handle
};

// How long to wait before a server is asked again: as OpenAI's own clients do it.
struct RetryPolicy {
  int max_retries = 2;
  std::chrono::milliseconds first_wait{500}, longest_wait{8'000};
};

// 408, 409, 429 and 5xx, unless the server says otherwise (x-should-retry).
bool IsRetryable(const HttpReply& reply);

// What the server asks for: retry-after-ms, or Retry-After in seconds or as a date. Never negative.
std::optional<std::chrono::milliseconds> RetryAfter(const HttpReply& reply, std::time_t now);

// Doubles with each retry up to the longest; `jitter` in [0, 1) takes up to a quarter off.
std::chrono::milliseconds Backoff(const RetryPolicy& policy, int retries_before, double jitter);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_HTTP_H_
