// Asks models many questions at once, and remembers every answer: whoever asks again, in a run that
// goes on or a replay, is told the same without anybody being asked.
#ifndef WARPSMITH_AGENT_MODEL_CLIENT_H_
#define WARPSMITH_AGENT_MODEL_CLIENT_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/chat_model.h"
#include "core/step.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

// --- Tokens and money: what was spent on a model, and whether another prompt still fits.

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

// By role ("lowering"); "" answers for all others. None at all: only what is remembered.
using Models = std::map<std::string, ChatModel*, std::less<>>;

struct Answer {
  ChatReply reply;
  std::string problem;  // not empty: what came is no reply, in one line; then `reply` is empty
  double money = 0;
};

Cost CostOf(const Answer& answer);

class ModelClient {
 public:
  static constexpr int kConcurrentCalls = 8;  // endpoints have limits of their own

  ModelClient(Models models, TokenBudget* token_budget, store::RunMemos* memos)
      : models_(std::move(models)), token_budget_(token_budget), memos_(memos) {}

  // The answers in the requests' order; each is kept as it comes, so an error or a kill loses none.
  // kAwaiting when some are missing, after all of them were asked for: all prompts of an exchange
  // are there at once. The same question is asked once, and paid for once. What was answered badly
  // is an Answer; an Error is the server's or ours.
  Result<std::vector<Answer>> AskAll(std::span<const ChatRequest> requests);

 private:
  Result<std::optional<Answer>> Recall(const ChatRequest& request);
  Status AskOthers(std::span<const ChatRequest> requests,
                   std::vector<std::optional<Answer>>& answers);
  Answer AnswerOf(const ChatRequest& request, Result<ChatReply> reply) const;
  Status Keep(const ChatRequest& request, const Answer& answer);
  Result<ChatReply> Complete(const ChatRequest& request) const;

  const Models models_;
  TokenBudget* token_budget_;
  store::RunMemos* memos_;
  std::set<std::string> told_;  // requests that were paid for
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_MODEL_CLIENT_H_
