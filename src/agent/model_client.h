// Asks models many questions at once, and remembers every answer: whoever asks again, in a run that
// goes on or a replay, is told the same without anybody being asked.
#ifndef WARPSMITH_AGENT_MODEL_CLIENT_H_
#define WARPSMITH_AGENT_MODEL_CLIENT_H_

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/token_budget.h"
#include "base/result.h"
#include "core/chat_model.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

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
