#include "agent/models/retry.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace warpsmith::models {
namespace {

using std::chrono::milliseconds;

constexpr double kMostMs = 1e9;  // 11 days: what is longer is as good as never

std::string Header(const HttpReply& reply, const char* name) {
  const auto found = reply.headers.find(name);
  return found == reply.headers.end() ? "" : found->second;
}

std::optional<milliseconds> Milliseconds(const std::string& text, double scale) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return {};
  return milliseconds(static_cast<int64_t>(std::min(number * scale, kMostMs)));
}

std::optional<milliseconds> UntilDate(const std::string& text, std::time_t now) {
  std::tm date{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return {};
  const double seconds = std::difftime(timegm(&date), now);
  return milliseconds(static_cast<int64_t>(std::clamp(seconds * 1e3, 0.0, kMostMs)));
}

}  // namespace

bool MayHelpToAskAgain(const HttpReply& reply) {
  const std::string said = Header(reply, "x-should-retry");
  if (said == "true" || said == "false") return said == "true";
  const int status = reply.status;
  return status == 408 || status == 409 || status == 429 || (status >= 500 && status < 600);
}

std::optional<milliseconds> AskedWait(const HttpReply& reply, std::time_t now) {
  if (const auto wait = Milliseconds(Header(reply, "retry-after-ms"), 1)) return wait;
  const std::string after = Header(reply, "retry-after");
  if (const auto wait = Milliseconds(after, 1e3)) return wait;
  return UntilDate(after, now);
}

milliseconds Backoff(const RetryPolicy& policy, int retries_before, double jitter) {
  const double doubled =
      static_cast<double>(policy.first_wait.count()) * std::exp2(std::min(retries_before, 30));
  const double wait = std::min(doubled, static_cast<double>(policy.longest_wait.count()));
  return milliseconds(static_cast<int64_t>(wait * (1 - jitter / 4)));
}

}  // namespace warpsmith::models
