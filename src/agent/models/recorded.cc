#include "agent/models/recorded.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_reader.h"
#include "core/serialize.h"
#include "store/line_journal.h"

namespace warpsmith::models {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "warpsmith.chat";
constexpr int kVersion = 1;

Status CheckHeader(const std::string& source, std::string_view line) {
  const json parsed = TRY(ParseJson(source, line));
  const JsonReader header(source, parsed);
  if (TRY(header.At("schema").String()) != kSchema)
    return header.At("schema").Bad("warpsmith.chat");
  const int64_t version = TRY(header.At("version").Int());
  if (version == kVersion) return {};
  return Error{ErrorCode::kVersion,
               source + ": a recording of version " + std::to_string(version) +
                   ", and this program reads version " + std::to_string(kVersion),
               "replay it with the program that wrote it"};
}

Status AddReply(const std::string& source, std::string_view line, RecordedReplies* replies) {
  const json parsed = TRY(ParseJson(source, line));
  const JsonReader entry(source, parsed);
  TRY(entry.OnlyFields({"id", "asker", "reply", "request", "sha256"}));
  TRY(store::CheckLineDigest(source, entry, line));
  std::string id = TRY(entry.At("id").String());
  replies->emplace(std::move(id), TRY(ChatReplyFrom(entry.At("reply"))));
  return {};
}

class Recorded : public ChatModel {
 public:
  Recorded(std::filesystem::path path, RecordedReplies replies)
      : path_(std::move(path)), replies_(std::move(replies)) {}

  Result<ChatReply> Complete(const ChatRequest& request) override {
    const std::string id = RequestId(request);
    const auto found = replies_.find(id);
    if (found != replies_.end()) return found->second;
    return Error{ErrorCode::kNotRecorded,
                 path_.string() + ": no reply to request " + id.substr(0, 16) + " of '" +
                     request.role + "' among " + std::to_string(replies_.size()),
                 "replay it with the settings and the version it was recorded with"};
  }

 private:
  const std::filesystem::path path_;
  const RecordedReplies replies_;
};

}  // namespace

Result<RecordedReplies> ReadRecording(const std::string& source, std::string_view text) {
  RecordedReplies replies;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // torn
    const std::string place = source + ":" + std::to_string(number);
    const std::string_view line = text.substr(0, end);
    TRY(number == 1 ? CheckHeader(place, line) : AddReply(place, line, &replies));
    text.remove_prefix(end + 1);
  }
  return replies;
}

Result<std::unique_ptr<ChatModel>> OpenRecording(const std::filesystem::path& path) {
  RecordedReplies replies = TRY(ReadRecording(path.string(), TRY(store::ReadWholeLines(path))));
  return std::unique_ptr<ChatModel>(std::make_unique<Recorded>(path, std::move(replies)));
}

}  // namespace warpsmith::models
