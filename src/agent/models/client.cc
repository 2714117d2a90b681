#include "agent/models/client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "agent/models/call.h"
#include "base/caught.h"
#include "base/http.h"
#include "base/interrupt.h"

namespace warpsmith::models {
namespace {

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
  const bool is_plain = std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7f; });
  if (is_plain) return key;
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
