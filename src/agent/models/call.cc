#include "agent/models/call.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <variant>

#include "agent/models/server_events.h"
#include "base/http.h"
#include "base/interrupt.h"
#include "base/random.h"

namespace warpsmith::models {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A body as it comes in: a stream of events, or (asked for a stream or not) one JSON document.
class Body {
 public:
  explicit Body(const std::string& source) : source_(source), streamed_(source) {}

  Status Take(std::string_view bytes) {
    if (start_.empty()) {
      bytes.remove_prefix(std::min(bytes.find_first_not_of(" \r\n\t"), bytes.size()));
      if (bytes.empty()) return {};
      is_document_ = bytes.front() == '{' || bytes.front() == '[' || bytes.front() == '<';
    }
    if (start_.empty() || is_document_) start_ += bytes;
    if (is_document_) return {};
    return Add(parser_.Feed(bytes));
  }

  // Nothing: it was cut off.
  Result<std::optional<ReadReply>> Finish() {
    if (is_document_) return std::optional(TRY(ReadWholeReply(source_, start_)));
    TRY(Add(parser_.Finish()));
    if (!streamed_.complete()) return std::optional<ReadReply>();
    return std::optional(TRY(streamed_.Finish()));
  }

  bool complete() const { return !is_document_ && streamed_.complete(); }
  bool is_done() const { return !is_document_ && streamed_.done(); }  // nothing more is to come

 private:
  Status Add(const std::vector<ServerEvent>& events) {
    for (const ServerEvent& event : events) TRY(streamed_.Add(event.data));
    return {};
  }

  std::string source_;
  std::string start_;  // the whole document, or the first bytes of a stream
  bool is_document_ = false;
  ServerEventParser parser_;
  StreamedReply streamed_;
};

// An attempt that failed in a way that another one may not.
struct Again {
  std::string reason;
  std::optional<milliseconds> asked_wait;
};

using Attempt = std::variant<ReadReply, Again>;

std::string ShownUrl(const Endpoint& endpoint) {
  const std::string url = CompletionsUrl(endpoint.base_url);
  return url.substr(0, url.find('?'));
}

std::string StatusText(const HttpReply& reply) {
  const std::string said = ServerMessage(reply.body);
  return "HTTP " + std::to_string(reply.status) + (said.empty() ? "" : ": " + said);
}

// Of a status that no retry mends.
Error Refusal(const Endpoint& endpoint, const HttpReply& reply) {
  const std::string what = ShownUrl(endpoint) + " answered " + StatusText(reply);
  switch (reply.status) {
    case 401:
    case 403:
      return {ErrorCode::kPermission, what,
              endpoint.key_variable.empty()
                  ? "name the environment variable that holds the key (key_variable)"
                  : "look at the key in $" + endpoint.key_variable};
    case 404:
      return {ErrorCode::kConfig, what,
              "look at the base URL (most end in /v1) and at the model's name, '" + endpoint.model +
                  "'"};
    case 400:
    case 422:
      return {ErrorCode::kConfig, what,
              "if it does not know a field, say so in the endpoint's capabilities"};
    default:
      if (reply.status >= 300 && reply.status < 400) {
        return {ErrorCode::kConfig, what, "redirections are not followed: write the final address"};
      }
      return {ErrorCode::kUnavailable, what, "look into the server's log"};
  }
}

HttpCall PostOf(const Call& call, milliseconds limit) {
  HttpCall post;
  post.url = CompletionsUrl(call.endpoint.base_url);
  post.headers = {"Content-Type: application/json", "Expect:"};
  if (!call.key.empty()) post.headers.push_back("Authorization: Bearer " + call.key);
  post.body = call.body;
  post.connect_limit = call.endpoint.connect_limit;
  post.total_limit = limit;
  post.max_reply_bytes = call.endpoint.max_reply_bytes;
  return post;
}

Result<Attempt> Try(const Call& call, milliseconds limit, const std::stop_token& stop) {
  Body body(ShownUrl(call.endpoint));
  HttpClient client = TRY(HttpClient::Open());
  HttpCall post = PostOf(call, limit);
  post.on_body = [&](std::string_view bytes) { return body.Take(bytes); };
  post.is_whole = [&] { return body.is_done(); };
  const Result<HttpOutcome> posted = client.Send(post, stop);
  // A server may keep the connection open when every sample has ended.
  const bool late = !posted.ok() && posted.error().code == ErrorCode::kTimeout && body.complete();
  if (!posted.ok() && !late) return posted.error();
  const HttpOutcome outcome = late ? HttpOutcome(ConnectionLost{}) : *posted;
  const auto* lost = std::get_if<ConnectionLost>(&outcome);
  if (lost != nullptr && !body.complete()) return Attempt(Again{lost->reason, {}});
  if (const auto* reply = std::get_if<HttpReply>(&outcome); reply && reply->status != 200) {
    if (!MayHelpToAskAgain(*reply)) return Refusal(call.endpoint, *reply);
    return Attempt(Again{StatusText(*reply), AskedWait(*reply, std::time(nullptr))});
  }
  std::optional<ReadReply> read = TRY(body.Finish());
  if (!read) return Attempt(Again{"the reply was cut off", {}});
  return Attempt(std::move(*read));
}

Status Sleep(milliseconds duration, const std::stop_token& stop) {
  constexpr milliseconds kLook{100};  // how late Ctrl-C is seen
  const auto end = Clock::now() + duration;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (Clock::now() < end) {
    if (stop.stop_requested() || Interrupted()) {
      return Error{ErrorCode::kInterrupted, "stopped while waiting to ask a model again",
                   "run again to go on"};
    }
    never.wait_until(lock, stop, std::min(end, Clock::now() + kLook), [] { return false; });
  }
  return {};
}

Error GaveUp(const Endpoint& endpoint, const Again& again, int attempts, const char* fix) {
  return {ErrorCode::kUnavailable,
          "asking " + ShownUrl(endpoint) + " failed " + std::to_string(attempts) +
              (attempts == 1 ? " time: " : " times: ") + again.reason,
          fix};
}

}  // namespace

std::string CompletionsUrl(const std::string& base_url) {
  const size_t query = std::min(base_url.find('?'), base_url.size());
  std::string path = base_url.substr(0, query);
  while (path.ends_with('/')) path.pop_back();
  return path + "/chat/completions" + base_url.substr(query);
}

Result<ReadReply> Carry(const Call& call, const std::stop_token& stop) {
  const Endpoint& endpoint = call.endpoint;
  const auto deadline = Clock::now() + endpoint.total_limit;
  Random jitter = Random::Secret();
  for (int retries = 0;; ++retries) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    Attempt attempt = TRY(Try(call, std::max(left, milliseconds(1)), stop));
    if (auto* read = std::get_if<ReadReply>(&attempt)) return std::move(*read);
    const Again& again = std::get<Again>(attempt);
    if (retries >= endpoint.retry.max_retries) {
      return GaveUp(endpoint, again, retries + 1,
                    "see that it is up and that the address is right");
    }
    const milliseconds wait =
        again.asked_wait.value_or(Backoff(endpoint.retry, retries, jitter.Uniform()));
    if (Clock::now() + wait >= deadline) {
      return GaveUp(endpoint, again, retries + 1,
                    "the wait before the next attempt is over the time limit: try again later");
    }
    TRY(Sleep(wait, stop));
  }
}

}  // namespace warpsmith::models
