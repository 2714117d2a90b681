// Seam: a language model that is asked for n samples of one prompt.
#ifndef WARPSMITH_CORE_CHAT_MODEL_H_
#define WARPSMITH_CORE_CHAT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith {

struct ChatMessage {
  std::string role, text;  // role: system, user, assistant
};

// What is absent is left to the server.
struct ChatSampling {
  std::optional<double> temperature, top_p;
  std::optional<int64_t> max_tokens;  // of one sample
  std::optional<int64_t> seed;        // of the first sample; asking anew means another seed
  std::vector<std::string> stop;
};

struct ChatRequest {
  std::string role;  // the role in the loop that asks: "lowering", "state"
  std::vector<ChatMessage> messages;
  ChatSampling sampling;
  int samples = 1;
};

// Content hash of the whole request: what exchanges and recordings are keyed by.
std::string RequestId(const ChatRequest& request);

// Model text is data. It is valid UTF-8 of at most kMaxChatTextBytes; nothing else is known of it.
inline constexpr size_t kMaxChatTextBytes = size_t{4} << 20;

struct ChatSample {
  std::string text;
  // stop, length, content_filter, refusal, or a server's own; cut: by us.
  std::string finish_reason;
};

struct ChatUsage {
  int64_t prompt_tokens = 0, completion_tokens = 0;
  bool estimated = false;  // the server did not say: a quarter of the characters
};

struct ChatReply {
  std::vector<ChatSample> samples;  // at least one; fewer than asked for when some calls failed
  ChatUsage usage;                  // of all samples
  std::string model;                // as the server names it
};

// Thread-safe: many askers at once. An Error is the server's or the harness's: a sample that
// refuses, is empty or stops half-way is a reply. kAwaiting: somebody has yet to answer.
class ChatModel {
 public:
  virtual ~ChatModel() = default;
  virtual Result<ChatReply> Complete(const ChatRequest& request) = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_CHAT_MODEL_H_
