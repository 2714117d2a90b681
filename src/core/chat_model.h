// Seam: a language model that is asked for n samples of one prompt.
#ifndef WARPSMITH_CORE_CHAT_MODEL_H_
#define WARPSMITH_CORE_CHAT_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "util/result.h"

namespace warpsmith {

struct ChatMessage {
  std::string role, text;  // role: system, user, assistant
};

struct ChatRequest {
  std::string id;  // content hash of everything below
  std::vector<ChatMessage> messages;
  SamplingParameters sampling;
  int samples = 1;
  int64_t max_tokens = 0;
};

struct ChatSample {
  std::string id;  // unique within the run; candidates made from it carry it
  std::string text;
  std::string finish_reason;
  std::optional<std::vector<double>> token_logprobs;  // where the model offers them
};

struct ChatReply {
  std::vector<ChatSample> samples;
  int64_t prompt_tokens = 0, completion_tokens = 0;
  bool tokens_estimated = false;
};

class ChatModel {
 public:
  virtual ~ChatModel() = default;
  virtual Result<ChatReply> Complete(const ChatRequest& request) = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_CHAT_MODEL_H_
