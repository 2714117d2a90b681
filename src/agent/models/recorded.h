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

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_RECORDED_H_
