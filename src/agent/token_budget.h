// Tokens and money: what was spent on a model, and whether another prompt still fits.
#ifndef WARPSMITH_AGENT_TOKEN_BUDGET_H_
#define WARPSMITH_AGENT_TOKEN_BUDGET_H_

#include <functional>
#include <optional>
#include <string>

#include "core/chat_model.h"
#include "core/step.h"

namespace warpsmith::agent {

// What usage costs with the model that this role asks; nullopt: there is no price for it.
using PriceOf =
    std::function<std::optional<double>(const std::string& role, const ChatUsage& usage)>;

// An upper estimate: prompts have at least three bytes a token, replies end at their limit. Without
// a limit a reply is taken for kUnlimitedReply tokens.
inline constexpr int64_t kUnlimitedReply = 32'768;
ChatUsage Estimate(const ChatRequest& request);

// The limit after which nothing fitted any more, and how many prompts had fitted before it.
struct TokenBudgetEnd {
  std::string limit;  // "tokens" or "money"
  int64_t fitted = 0;
};

class TokenBudget {
 public:
  // `price` may be empty: then nothing costs money. `known_end`: of a run that is replayed, whose
  // budget and prices are not known; nothing fits from there on.
  TokenBudget(const Budget& budget, PriceOf price, std::optional<TokenBudgetEnd> known_end = {})
      : budget_(budget), price_(std::move(price)), known_end_(std::move(known_end)) {}

  // Sets tokens and money aside for the prompt; false, and `limit` says which, where it could pass
  // the budget. From then on nothing fits: so a run with a larger budget asks the same at first.
  bool Reserve(const ChatRequest& request);
  // What a reply really cost, in place of what was set aside for this request.
  Cost Settle(const ChatRequest& request, const ChatUsage& usage, double money);
  // 0 where the model has no price.
  double MoneyOf(const ChatRequest& request, const ChatUsage& usage) const;

  const Cost& spent() const { return spent_; }
  const std::optional<std::string>& limit() const { return limit_; }
  // Nullopt while there is no limit.
  std::optional<TokenBudgetEnd> end() const;

 private:
  Cost Reserved(const ChatRequest& request) const;

  const Budget budget_;
  const PriceOf price_;
  const std::optional<TokenBudgetEnd> known_end_;
  Cost spent_, reserved_;
  int64_t fitted_ = 0;
  std::optional<std::string> limit_;
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_TOKEN_BUDGET_H_
