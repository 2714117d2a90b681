// A folder instead of a server: prompts are written into it, and whoever likes answers them, a
// person or a coding agent.
//
//   <id>.prompt.md      the prompt, to read
//   <id>.request.json   the same as a ChatRequest, exact
//   <id>.answer.md      the answer: the file's text. Of several samples the second is
//   <id>.answer-2.md    this, and so on
//
// <id> is the first 16 digits of the request's id. An empty answer counts as none.
#ifndef WARPSMITH_AGENT_MODELS_EXCHANGE_H_
#define WARPSMITH_AGENT_MODELS_EXCHANGE_H_

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

inline constexpr size_t kMaxAnswerBytes = size_t{50} << 20;

// Complete: kAwaiting, naming the answer's file, until all samples are there; kBadInput for an
// answer that is larger than kMaxAnswerBytes or no plain file. Makes the folder.
Result<std::unique_ptr<ChatModel>> OpenExchange(const std::filesystem::path& folder);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_EXCHANGE_H_
