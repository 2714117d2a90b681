#include "agent/token_budget.h"

#include <algorithm>

namespace warpsmith::agent {
namespace {

constexpr int64_t kBytesAToken = 3, kTokensAMessage = 8;

}  // namespace

ChatUsage Estimate(const ChatRequest& request) {
  ChatUsage usage;
  for (const ChatMessage& message : request.messages) {
    usage.prompt_tokens +=
        static_cast<int64_t>(message.text.size()) / kBytesAToken + kTokensAMessage;
  }
  // A server that reads no `n` is asked once a sample.
  usage.prompt_tokens *= std::max(request.samples, 1);
  usage.completion_tokens =
      request.sampling.max_tokens.value_or(kUnlimitedReply) * std::max(request.samples, 1);
  usage.estimated = true;
  return usage;
}

double TokenBudget::MoneyOf(const ChatRequest& request, const ChatUsage& usage) const {
  return price_ ? price_(request.role, usage).value_or(0) : 0;
}

Cost TokenBudget::Reserved(const ChatRequest& request) const {
  const ChatUsage usage = Estimate(request);
  Cost cost;
  cost.tokens = usage.prompt_tokens + usage.completion_tokens;
  cost.money = MoneyOf(request, usage);
  return cost;
}

bool TokenBudget::Reserve(const ChatRequest& request) {
  if (limit_.has_value()) return false;
  const Cost more = reserved_ + Reserved(request);
  if (spent_.tokens > budget_.tokens - more.tokens) limit_ = "tokens";
  if (spent_.money + more.money > budget_.money) limit_ = "money";
  if (known_end_.has_value() && fitted_ == known_end_->fitted) limit_ = known_end_->limit;
  if (limit_.has_value()) return false;
  reserved_ = more;
  ++fitted_;
  return true;
}

std::optional<TokenBudgetEnd> TokenBudget::end() const {
  if (!limit_.has_value()) return std::nullopt;
  return TokenBudgetEnd{*limit_, fitted_};
}

Cost TokenBudget::Settle(const ChatRequest& request, const ChatUsage& usage, double money) {
  const Cost reserved = Reserved(request);
  reserved_.tokens -= reserved.tokens;
  reserved_.money = std::max(0.0, reserved_.money - reserved.money);
  Cost cost;
  cost.tokens = usage.prompt_tokens + usage.completion_tokens;
  cost.money = money;
  spent_ = spent_ + cost;
  return cost;
}

}  // namespace warpsmith::agent
