// When to ask a server again, and how long to wait: as OpenAI's own clients do it.
#ifndef WARPSMITH_AGENT_MODELS_RETRY_H_
#define WARPSMITH_AGENT_MODELS_RETRY_H_

#include <chrono>
#include <ctime>
#include <optional>

#include "agent/models/http.h"

namespace warpsmith::models {

struct RetryPolicy {
  int max_retries = 2;
  std::chrono::milliseconds first_wait{500}, longest_wait{8'000};
};

// 408, 409, 429 and 5xx, unless the server says otherwise (x-should-retry).
bool MayHelpToAskAgain(const HttpReply& reply);

// What the server asks for: retry-after-ms, or Retry-After in seconds or as a date. Never negative.
std::optional<std::chrono::milliseconds> AskedWait(const HttpReply& reply, std::time_t now);

// Doubles with each retry up to the longest; `jitter` in [0, 1) takes up to a quarter off.
std::chrono::milliseconds Backoff(const RetryPolicy& policy, int retries_before, double jitter);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_RETRY_H_
