#include "agent/model_client.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/caught.h"
#include "base/display_text.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "core/serialize.h"

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

namespace {

using nlohmann::json;

constexpr size_t kProblemCharacters = 300;

std::string KeyOf(const ChatRequest& request) { return "chat:" + RequestId(request); }

std::string TextOf(const Answer& answer) {
  json text = json::object();
  if (answer.money != 0) text["money"] = answer.money;
  if (answer.problem.empty()) {
    text["reply"] = ToJson(answer.reply);
  } else {
    text["problem"] = answer.problem;
  }
  return JsonText(text);
}

Result<Answer> AnswerFrom(const std::string& key, const std::string& text) {
  const json parsed = TRY(ParseJson("memo " + key, text));
  const JsonReader root("memo " + key, parsed);
  Answer answer;
  if (root.Has("money")) answer.money = TRY(root.At("money").Number());
  if (root.Has("problem")) {
    answer.problem = TRY(root.At("problem").String());
  } else {
    answer.reply = TRY(ChatReplyFrom(root.At("reply")));
  }
  return answer;
}

// Only what the model wrote itself: an answer that is none says nothing about the server.
bool IsTheModelsFault(const Error& error) { return error.code == ErrorCode::kBadInput; }

// Calls on threads of their own, taken out one by one as they end.
class Calls {
 public:
  using Ended = std::pair<size_t, Result<ChatReply>>;
  using Call = std::function<Result<ChatReply>(size_t index)>;

  Calls(std::vector<size_t> indices, Call call)
      : indices_(std::move(indices)), call_(std::move(call)) {
    const size_t threads = std::min<size_t>(indices_.size(), ModelClient::kConcurrentCalls);
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  // Waits for those under way.
  ~Calls() {
    Stop();
    for (std::thread& thread : threads_) thread.join();
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // None is begun any more.
  void Stop() { next_ = indices_.size(); }
  // Nullopt when all that were begun have been taken.
  std::optional<Ended> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ended_.empty() || working_ == 0; });
    if (ended_.empty()) return std::nullopt;
    Ended one = std::move(ended_.front());
    ended_.pop_front();
    return one;
  }

 private:
  void Work() {
    while (true) {
      const size_t at = next_++;
      if (at >= indices_.size()) break;
      Result<ChatReply> reply = Caught([&] { return call_(indices_[at]); });
      const std::lock_guard lock(mutex_);
      ended_.emplace_back(indices_[at], std::move(reply));
      changed_.notify_one();
    }
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_one();
  }

  const std::vector<size_t> indices_;
  const Call call_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ended> ended_;
  size_t working_ = std::min<size_t>(indices_.size(), ModelClient::kConcurrentCalls);
  std::vector<std::thread> threads_;  // last: they use the others
};

// Told in the same order, whichever call ended first.
Error AllAwaited(std::vector<Error> awaited) {
  std::sort(awaited.begin(), awaited.end(),
            [](const Error& a, const Error& b) { return a.message < b.message; });
  Error error = awaited.front();
  if (awaited.size() > 1) {
    error.message =
        std::to_string(awaited.size()) + " answers are awaited; the first: " + error.message;
  }
  return error;
}

}  // namespace

Cost CostOf(const Answer& answer) {
  Cost cost;
  cost.tokens = answer.reply.usage.prompt_tokens + answer.reply.usage.completion_tokens;
  cost.money = answer.money;
  return cost;
}

Result<std::vector<Answer>> ModelClient::AskAll(std::span<const ChatRequest> requests) {
  std::vector<std::optional<Answer>> answers;
  for (const ChatRequest& request : requests) answers.push_back(TRY(Recall(request)));
  TRY(AskOthers(requests, answers));
  std::vector<Answer> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    Answer& answer = *answers[i];
    if (!told_.insert(KeyOf(requests[i])).second) {
      answer.reply.usage = {};
      answer.money = 0;
    }
    token_budget_->Settle(requests[i], answer.reply.usage, answer.money);
    all.push_back(std::move(answer));
  }
  return all;
}

Result<std::optional<Answer>> ModelClient::Recall(const ChatRequest& request) {
  const std::string key = KeyOf(request);
  const auto text = TRY(memos_->Find(key));
  if (!text.has_value()) return std::optional<Answer>();
  return std::optional(TRY(AnswerFrom(key, *text)));
}

Status ModelClient::AskOthers(std::span<const ChatRequest> requests,
                              std::vector<std::optional<Answer>>& answers) {
  std::vector<size_t> missing;
  std::map<std::string, size_t> first;  // of those that ask the same
  for (size_t i = 0; i < requests.size(); ++i) {
    if (answers[i].has_value()) continue;
    if (first.emplace(KeyOf(requests[i]), i).second) missing.push_back(i);
  }
  if (missing.empty()) return {};
  std::vector<Error> awaited;
  std::optional<Error> failure;
  Calls calls(missing, [&](size_t index) { return Complete(requests[index]); });
  const auto fail = [&](const Error& error) {
    calls.Stop();
    if (!failure.has_value()) failure = error;
  };
  while (auto ended = calls.Take()) {
    auto& [index, reply] = *ended;
    if (!reply.ok() && reply.error().code == ErrorCode::kAwaiting) {
      awaited.push_back(reply.error());
    } else if (!reply.ok() && !IsTheModelsFault(reply.error())) {
      fail(reply.error());
    } else {
      answers[index] = AnswerOf(requests[index], std::move(reply));
      const Status kept = Keep(requests[index], *answers[index]);
      if (!kept.ok()) fail(kept.error());
    }
  }
  if (failure.has_value()) return *failure;
  if (!awaited.empty()) return AllAwaited(std::move(awaited));
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!answers[i].has_value()) answers[i] = answers[first.at(KeyOf(requests[i]))];
  }
  return {};
}

Answer ModelClient::AnswerOf(const ChatRequest& request, Result<ChatReply> reply) const {
  Answer answer;
  if (reply.ok()) {
    answer.money = token_budget_->MoneyOf(request, reply->usage);
    answer.reply = std::move(*reply);
  } else {
    answer.problem = ForTerminal(reply.error().message, kProblemCharacters);
  }
  return answer;
}

Status ModelClient::Keep(const ChatRequest& request, const Answer& answer) {
  return memos_->Keep(KeyOf(request), TextOf(answer));
}

Result<ChatReply> ModelClient::Complete(const ChatRequest& request) const {
  auto model = models_.find(request.role);
  if (model == models_.end()) model = models_.find("");
  if (model == models_.end() || memos_->is_replay()) {
    return Error{ErrorCode::kNotRecorded,
                 "the recording holds no reply to this prompt of '" + request.role + "' (" +
                     RequestId(request).substr(0, 16) + ")",
                 "replay with the program and the settings that it was recorded with, or ask a "
                 "model: --model"};
  }
  if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped before asking a model", ""};
  return model->second->Complete(request);
}

}  // namespace warpsmith::agent
