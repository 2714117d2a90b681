#include "agent/models/recorded.h"

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_lock.h"
#include "base/json_reader.h"
#include "core/serialize.h"
#include "store/line_journal.h"

namespace warpsmith::models {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "warpsmith.chat";
constexpr int kVersion = 1;

std::string HeaderLine() { return json{{"schema", kSchema}, {"version", kVersion}}.dump() + "\n"; }

std::string ReplyLine(const ChatRequest& request, const std::string& id, const ChatReply& reply,
                      Keep keep) {
  const json whole = ToJson(request);
  json line{{"id", id}, {"asker", whole["asker"]}, {"reply", ToJson(reply)}};
  if (keep == Keep::kRequests) line["request"] = whole;
  return store::WithLineDigest(line.dump()) + "\n";
}

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

class Recorder : public ChatModel {
 public:
  Recorder(FileLock lock, store::LineJournal journal, RecordedReplies replies, ChatModel* model,
           Keep keep)
      : lock_(std::move(lock)),
        journal_(std::move(journal)),
        replies_(std::move(replies)),
        model_(model),
        keep_(keep) {}

  Result<ChatReply> Complete(const ChatRequest& request) override {
    const std::string id = RequestId(request);
    {
      const std::lock_guard guard(mutex_);
      const auto found = replies_.find(id);
      if (found != replies_.end()) return found->second;
    }
    ChatReply reply = TRY(model_->Complete(request));
    const std::lock_guard guard(mutex_);
    // Another thread may have asked the same: its reply was the first, and counts.
    const auto found = replies_.find(id);
    if (found != replies_.end()) return found->second;
    TRY(journal_.Append(ReplyLine(request, id, reply, keep_)));
    TRY(journal_.Sync());
    return replies_.emplace(id, std::move(reply)).first->second;
  }

 private:
  const FileLock lock_;
  std::mutex mutex_;
  store::LineJournal journal_;
  RecordedReplies replies_;
  ChatModel* const model_;
  const Keep keep_;
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

Result<std::unique_ptr<ChatModel>> RecordTo(const std::filesystem::path& path, ChatModel* model,
                                            Keep keep) {
  constexpr std::chrono::milliseconds kPatience{0};
  FileLock lock = TRY(FileLock::Acquire(path.string() + ".lock", "recording replies", kPatience));
  store::LineJournal journal = TRY(store::LineJournal::Open(path));
  RecordedReplies replies = TRY(ReadRecording(path.string(), TRY(store::ReadWholeLines(path))));
  if (journal.empty()) TRY(journal.Append(HeaderLine()));
  return std::unique_ptr<ChatModel>(std::make_unique<Recorder>(std::move(lock), std::move(journal),
                                                               std::move(replies), model, keep));
}

}  // namespace warpsmith::models
