#include "serve/mcp/server.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/caught.h"
#include "base/interrupt.h"
#include "serve/mcp/line_reader.h"

namespace warpsmith::mcp {
namespace {

constexpr std::chrono::milliseconds kLookAround{100};  // for an interruption

// What both threads share. Everything in it is held by `mutex`, the output too: a line is written
// whole.
class Conversation {
 public:
  Conversation(Session& session, int output) : session_(session), output_(output) {}

  void Hear(const InputLine& line, size_t most_bytes) {
    const std::lock_guard lock(mutex_);
    if (line.too_long) return Send(Session::TooLong(most_bytes));
    Session::Reaction reaction = session_.Receive(line.text);
    for (const std::string& reply : reaction.replies) Send(reply);
    for (ToolCall& call : reaction.calls) waiting_.push_back(std::move(call));
    cancelled_.insert(reaction.cancelled.begin(), reaction.cancelled.end());
    news_.notify_all();
  }

  void EndInput() {
    const std::lock_guard lock(mutex_);
    input_ended_ = true;
    news_.notify_all();
  }

  // The next call; nullopt when none came in time.
  std::optional<ToolCall> Next(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, patience, [this] { return !waiting_.empty() || Ended(); });
    if (waiting_.empty()) return std::nullopt;
    ToolCall call = std::move(waiting_.front());
    waiting_.pop_front();
    return call;
  }

  bool IsCancelled(const ToolCall& call) {
    const std::lock_guard lock(mutex_);
    return broken_ || cancelled_.contains(call.serial);
  }

  void Answer(const ToolCall& call, const ToolResult& result) {
    const std::lock_guard lock(mutex_);
    cancelled_.erase(call.serial);
    Send(session_.Answer(call, result));
  }

  void Report(const ToolCall& call, double done, double total, const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (!cancelled_.contains(call.serial)) Send(Session::Progress(call, done, total, message));
  }

  bool HasEnded() {
    const std::lock_guard lock(mutex_);
    return Ended();
  }

 private:
  bool Ended() const { return broken_ || (input_ended_ && waiting_.empty()); }

  void Send(const std::string& line) {
    if (line.empty() || broken_) return;
    const std::string bytes = line + "\n";
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = write(output_, bytes.data() + sent, bytes.size() - sent);
      if (count < 0 && errno == EINTR && !Interrupted()) continue;
      if (count <= 0) {
        broken_ = true;
        return;
      }
      sent += static_cast<size_t>(count);
    }
  }

  std::mutex mutex_;
  std::condition_variable news_;
  Session& session_;
  const int output_;
  std::deque<ToolCall> waiting_;
  std::set<int64_t> cancelled_;
  bool input_ended_ = false, broken_ = false;
};

class Context : public CallContext {
 public:
  Context(Conversation& conversation, const ToolCall& call)
      : conversation_(conversation), call_(call) {}
  bool Cancelled() const override { return Interrupted() || conversation_.IsCancelled(call_); }
  void Report(double done, double total, const std::string& message) override {
    conversation_.Report(call_, done, total, message);
  }

 private:
  Conversation& conversation_;
  const ToolCall& call_;
};

void ReadAll(Conversation& conversation, const ServeRequest& request, std::stop_token stop) {
  // What cannot be read has ended: what was asked is still answered.
  (void)Caught([&]() -> Status {
    LineReader reader(request.input, request.most_message_bytes);
    while (!stop.stop_requested() && !reader.ended()) {
      const auto line = TRY(reader.Next(kLookAround));
      if (line.has_value()) conversation.Hear(*line, request.most_message_bytes);
    }
    return {};
  });
  conversation.EndInput();
}

ToolResult Carried(const ToolCall& call, const ServeRequest& request, Context& context) {
  Result<ToolResult> result = request.call(call, context);
  if (result.ok()) return std::move(result).value();
  return {result.error().Line(), nullptr, true};
}

}  // namespace

Status Serve(Session& session, const ServeRequest& request) {
  Conversation conversation(session, request.output);
  const std::jthread reader(
      [&](std::stop_token stop) { ReadAll(conversation, request, std::move(stop)); });
  auto busy_until = std::chrono::steady_clock::now();
  bool told_idle = true;  // nothing has been opened so far
  while (!Interrupted() && !conversation.HasEnded()) {
    const auto call = conversation.Next(kLookAround);
    if (call.has_value()) {
      Context context(conversation, *call);
      if (!context.Cancelled()) conversation.Answer(*call, Carried(*call, request, context));
      busy_until = std::chrono::steady_clock::now();
      told_idle = false;
    } else if (!told_idle && request.idle &&
               std::chrono::steady_clock::now() - busy_until >= request.idle_after) {
      request.idle();
      told_idle = true;
    }
  }
  if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped", "everything is kept"};
  return {};
}

}  // namespace warpsmith::mcp
