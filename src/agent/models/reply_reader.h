// What servers answer to a chat completion, whole or streamed. Servers disagree about nearly
// everything but where the text is, so everything else may be absent.
#ifndef WARPSMITH_AGENT_MODELS_REPLY_READER_H_
#define WARPSMITH_AGENT_MODELS_REPLY_READER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

struct ReadUsage {
  std::optional<int64_t> prompt_tokens, completion_tokens;
};

// A reply as far as the server gave it. Texts are valid UTF-8 of at most kMaxChatTextBytes.
struct ReadReply {
  std::vector<ChatSample> samples;  // by index; at least one
  ReadUsage usage;
  std::string model;
};

// At most `most` bytes of valid UTF-8, no character cut in two.
std::string_view CutBetweenCharacters(std::string_view text, size_t most);

// Text for a sample: cut to kMaxChatTextBytes between characters, then its finish reason is "cut".
ChatSample MakeSample(std::string_view text, std::string finish_reason);

// `source` names the server in errors. kBadInput: not JSON, no choices, or an error object, whose
// message is then told.
Result<ReadReply> ReadWholeReply(const std::string& source, std::string_view body);

// Collects the events of a streamed reply.
class StreamedReply {
 public:
  explicit StreamedReply(std::string source) : source_(std::move(source)) {}
  // The data of one event.
  Status Add(std::string_view data);
  // Whether the server came to an end: [DONE], or a finish reason for every choice.
  bool complete() const;
  bool done() const { return done_; }  // the server said that nothing more comes
  // kBadInput when there was no choice.
  Result<ReadReply> Finish() const;

 private:
  struct Choice {
    std::string text, refusal, finish_reason;
  };
  Status AddChoice(const nlohmann::json& json);

  std::string source_;
  std::map<int64_t, Choice> choices_;
  ReadUsage usage_;
  std::string model_;
  bool done_ = false;
};

// The "message" of an error object in a body, on one line of any length; empty if there is none.
std::string ServerMessage(std::string_view body);

// Usage as the server gave it, else a quarter of the characters of messages and samples.
ChatUsage UsageOf(const ChatRequest& request, const ReadReply& reply);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_REPLY_READER_H_
