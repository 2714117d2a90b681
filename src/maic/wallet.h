// Tokens and money: what was spent on a model, and whether another prompt still fits.
#ifndef WARPSMITH_MAIC_WALLET_H_
#define WARPSMITH_MAIC_WALLET_H_

#include <functional>
#include <optional>
#include <string>

#include "core/chat_model.h"
#include "core/step.h"

namespace warpsmith::maic {

// What usage costs with the model that this role asks; nullopt: there is no price for it.
using PriceOf =
    std::function<std::optional<double>(const std::string& role, const ChatUsage& usage)>;

// An upper estimate: prompts have at least three bytes a token, replies end at their limit. Without
// a limit a reply is taken for kUnlimitedReply tokens.
inline constexpr int64_t kUnlimitedReply = 32'768;
ChatUsage Estimate(const ChatRequest& request);

class Wallet {
 public:
  // `price` may be empty: then nothing costs money.
  Wallet(const Budget& budget, PriceOf price) : budget_(budget), price_(std::move(price)) {}

  // Sets tokens and money aside for the prompt; false, and `limit` says which, where it could pass
  // the budget. From then on nothing fits: so a run with a larger budget asks the same at first.
  bool Reserve(const ChatRequest& request);
  // What a reply really cost, in place of what was set aside for this request.
  Cost Settle(const ChatRequest& request, const ChatUsage& usage, double money);
  double MoneyOf(const ChatRequest& request, const ChatUsage& usage) const;

  const Cost& spent() const { return spent_; }
  const std::optional<std::string>& limit() const { return limit_; }

 private:
  Cost Reserved(const ChatRequest& request) const;

  const Budget budget_;
  const PriceOf price_;
  Cost spent_, reserved_;
  std::optional<std::string> limit_;
};

}  // namespace warpsmith::maic

#endif  // WARPSMITH_MAIC_WALLET_H_
