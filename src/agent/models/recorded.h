// Replies kept in a file of lines, so that a run is replayed without asking again.
//
//   {"schema":"warpsmith.chat","version":1}
//   {"sha256":"...","id":"<RequestId>","asker":"lowering","reply":{...}}
//
// and "request":{...} where it was kept; lines of earlier programs have no digest.
//
// Lines are only appended; a torn last line is what a kill left, and is ignored.
#ifndef WARPSMITH_AGENT_MODELS_RECORDED_H_
#define WARPSMITH_AGENT_MODELS_RECORDED_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

using RecordedReplies = std::map<std::string, ChatReply, std::less<>>;  // by RequestId

// `source` names the text in errors. kBadInput for what is no recording, with the line; kVersion
// for another version. Of two replies to one request the first counts.
Result<RecordedReplies> ReadRecording(const std::string& source, std::string_view text);

// Complete: the recorded reply; kNotRecorded, with the role, for any other request.
Result<std::unique_ptr<ChatModel>> OpenRecording(const std::filesystem::path& path);

// --- A folder instead of a server: prompts are written into it, and whoever likes answers them, a
// person or a coding agent.
//
//   <id>.prompt.md      the prompt, to read
//   <id>.request.json   the same as a ChatRequest, exact
//   <id>.answer.md      the answer: the file's text. Of several samples the second is
//   <id>.answer-2.md    this, and so on
//
// <id> is the first 16 digits of the request's id. An empty answer counts as none.

inline constexpr size_t kMaxAnswerBytes = size_t{50} << 20;

// Complete: kAwaiting, naming the answer's file, until all samples are there; kBadInput for an
// answer that is larger than kMaxAnswerBytes or no plain file. Makes the folder.
Result<std::unique_ptr<ChatModel>> OpenExchange(const std::filesystem::path& folder);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_RECORDED_H_
