#include "agent/models/client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/caught.h"
#include "base/http.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/text.h"

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
    if (!IsRetryable(*reply)) return Refusal(call.endpoint, *reply);
    return Attempt(Again{StatusText(*reply), RetryAfter(*reply, std::time(nullptr))});
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

constexpr size_t kMaxErrorBytes = 600;

// How many calls may be under way.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}

  Status Take(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kLook{100};  // how late Ctrl-C is seen
    std::unique_lock lock(mutex_);
    while (!freed_.wait_for(lock, stop, kLook, [&] { return free_ > 0; })) {
      if (stop.stop_requested() || Interrupted()) {
        return Error{ErrorCode::kInterrupted, "stopped while waiting to ask a model",
                     "run again to go on"};
      }
    }
    --free_;
    return {};
  }

  void Give() {
    const std::lock_guard lock(mutex_);
    ++free_;
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any freed_;
  int free_;
};

Result<std::string> KeyFrom(const std::string& variable) {
  if (variable.empty()) return std::string();
  const char* value = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe)
  const std::string key = value == nullptr ? "" : value;
  if (key.empty()) {
    return Error{ErrorCode::kConfig, "$" + variable + ", which is to hold the key, is not set",
                 "set it, or take key_variable out if the server wants no key"};
  }
  if (IsVisible(key)) return key;
  return Error{ErrorCode::kConfig, "$" + variable + " holds blanks or characters no key has",
               "set it to the key alone"};
}

class Client : public ChatModel {
 public:
  Client(Endpoint endpoint, std::string key, std::stop_token stop)
      : endpoint_(std::move(endpoint)),
        key_(std::move(key)),
        stop_(std::move(stop)),
        slots_(endpoint_.max_concurrent_calls) {}

  Result<ChatReply> Complete(const ChatRequest& request) override;

 private:
  Result<ChatReply> Ask(const ChatRequest& request, int first_sample, int samples);
  std::vector<Result<ChatReply>> AskEach(const ChatRequest& request, int first_sample);
  std::string WithoutKey(std::string text) const;

  const Endpoint endpoint_;
  const std::string key_;
  const std::stop_token stop_;
  Slots slots_;
};

void Join(ChatReply part, size_t most, ChatReply* whole) {
  for (ChatSample& sample : part.samples) {
    if (whole->samples.size() < most) whole->samples.push_back(std::move(sample));
  }
  whole->usage.prompt_tokens += part.usage.prompt_tokens;
  whole->usage.completion_tokens += part.usage.completion_tokens;
  whole->usage.estimated |= part.usage.estimated;
  if (!part.model.empty()) whole->model = std::move(part.model);
}

// Servers that read `n` do not all give n choices, so what is missing is asked for one by one.
Result<ChatReply> Client::Complete(const ChatRequest& request) {
  const auto wanted = static_cast<size_t>(std::max(request.samples, 1));
  ChatReply whole;
  if (endpoint_.can.many_samples && wanted > 1) {
    Join(TRY(Ask(request, 0, request.samples)), wanted, &whole);
  }
  std::optional<Error> failed;
  for (Result<ChatReply>& part : AskEach(request, static_cast<int>(whole.samples.size()))) {
    if (part.ok()) {
      Join(std::move(part).value(), wanted, &whole);
    } else if (!failed || part.error().code == ErrorCode::kInterrupted) {
      failed = part.error();
    }
  }
  // Stopped in the middle: the whole is asked again, not kept with fewer samples.
  const bool stopped = failed && failed->code == ErrorCode::kInterrupted;
  if (stopped || whole.samples.empty()) return *failed;
  return whole;
}

// One call a sample, from `first_sample` on, as many at once as there are slots.
std::vector<Result<ChatReply>> Client::AskEach(const ChatRequest& request, int first_sample) {
  const int count = std::max(std::max(request.samples, 1) - first_sample, 0);
  std::vector<Result<ChatReply>> parts(static_cast<size_t>(count), ChatReply{});
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) {
      parts[static_cast<size_t>(i)] = Caught([&] { return Ask(request, first_sample + i, 1); });
    }
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min(count, endpoint_.max_concurrent_calls); ++i) {
    helpers.emplace_back(work);
  }
  work();
  helpers.clear();  // joins
  return parts;
}

Result<ChatReply> Client::Ask(const ChatRequest& request, int first_sample, int samples) {
  TRY(slots_.Take(stop_));
  Result<ReadReply> read = Caught([&] {
    return Carry({endpoint_, key_, RequestBody(endpoint_, request, first_sample, samples)}, stop_);
  });
  slots_.Give();
  if (!read.ok()) {
    const Error& error = read.error();
    // Cut after the key was taken out: a part of it is no better than the whole.
    const std::string message = WithoutKey(error.message);
    return Error{error.code, std::string(CutBetweenCharacters(message, kMaxErrorBytes)),
                 WithoutKey(error.fix)};
  }
  ChatReply reply{{}, UsageOf(request, *read), WithoutKey(read->model)};
  if (reply.model.empty()) reply.model = endpoint_.model;
  for (ChatSample& sample : read->samples) {
    reply.samples.push_back({WithoutKey(std::move(sample.text)), std::move(sample.finish_reason)});
  }
  return reply;
}

std::string Client::WithoutKey(std::string text) const {
  constexpr std::string_view kInstead = "[key]";
  if (key_.empty()) return text;
  for (size_t at = text.find(key_); at != std::string::npos; at = text.find(key_, at)) {
    text.replace(at, key_.size(), kInstead);
    at += kInstead.size();
  }
  return text;
}

}  // namespace

std::vector<ServerEvent> ServerEventParser::Feed(std::string_view bytes) {
  std::vector<ServerEvent> events;
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    TakeLine(std::exchange(line_, {}), &events);
  }
  return events;
}

std::vector<ServerEvent> ServerEventParser::Finish() {
  std::vector<ServerEvent> events;
  if (!line_.empty()) TakeLine(std::exchange(line_, {}), &events);
  Dispatch(&events);
  return events;
}

void ServerEventParser::TakeLine(std::string_view line, std::vector<ServerEvent>* events) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) return Dispatch(events);
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

void ServerEventParser::Dispatch(std::vector<ServerEvent>* events) {
  if (std::exchange(has_data_, false)) events->push_back(std::move(event_));
  event_ = {};
}

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

Result<std::unique_ptr<ChatModel>> ConnectTo(Endpoint endpoint, std::stop_token stop) {
  TRY(CheckAddress(endpoint.base_url, endpoint.plain_http));
  std::string key = TRY(KeyFrom(endpoint.key_variable));
  if (const auto http = HttpClient::Open(); !http.ok()) {
    Error error = http.error();
    error.fix += ", or let a person or an agent answer through a folder";
    return error;
  }
  return std::unique_ptr<ChatModel>(
      std::make_unique<Client>(std::move(endpoint), std::move(key), std::move(stop)));
}

}  // namespace warpsmith::models
