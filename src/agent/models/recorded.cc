#include "agent/models/recorded.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "agent/models/endpoint.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/utf8.h"
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

namespace {

namespace fs = std::filesystem;

constexpr size_t kIdDigits = 16;
constexpr std::string_view kPrompt = ".prompt.md", kRequest = ".request.json", kAnswer = ".answer";

std::string ShortId(const ChatRequest& request) { return RequestId(request).substr(0, kIdDigits); }

// Samples are counted from 0.
std::string AnswerName(const std::string& id, int sample) {
  const std::string number = sample == 0 ? "" : "-" + std::to_string(sample + 1);
  return id + std::string(kAnswer) + number + ".md";
}

std::string PromptText(const std::string& id, const ChatRequest& request) {
  std::string text = "# Prompt " + id + " (" + ValidUtf8(request.role) +
                     ")\n\nWrite the answer to " + "what follows, and nothing else, into `" +
                     AnswerName(id, 0) + "` beside this file.";
  if (request.samples > 1) {
    text += " " + std::to_string(request.samples) +
            " independent answers are wanted: the others go into `" + AnswerName(id, 1) + "` to `" +
            AnswerName(id, request.samples - 1) + "`.";
  }
  for (const ChatMessage& message : request.messages) {
    text += "\n\n---\n\n## " + ValidUtf8(message.role) + "\n\n" + ValidUtf8(message.text);
  }
  return text + "\n";
}

// A prompt that is there is left alone, with its time.
Status WriteOnce(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return {};
  return WriteFileAtomic(path, text);
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Nothing: it is not there, or empty.
Result<std::optional<std::string>> ReadAnswer(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return std::optional<std::string>();
  const bool is_plain = status.type() == fs::file_type::regular;
  if (!is_plain || fs::file_size(path, error) > kMaxAnswerBytes) {
    return Error{
        ErrorCode::kBadInput,
        "the answer " + path.string() + (is_plain ? " is larger than 50 MiB" : " is no plain file"),
        "write the answer's text into it"};
  }
  std::string text = TRY(ReadRegularFile(path, kMaxAnswerBytes));
  if (IsBlank(text)) return std::optional<std::string>();
  return std::optional(std::move(text));
}

Error Awaiting(const fs::path& folder, const std::string& id, int sample) {
  return {ErrorCode::kAwaiting,
          "an answer to " + (folder / (id + std::string(kPrompt))).string() + " is awaited",
          "write it into " + AnswerName(id, sample) + " beside it and run again"};
}

class Exchange : public ChatModel {
 public:
  explicit Exchange(fs::path folder) : folder_(std::move(folder)) {}

  Result<ChatReply> Complete(const ChatRequest& request) override {
    const std::string id = ShortId(request);
    TRY(WriteOnce(folder_ / (id + std::string(kPrompt)), PromptText(id, request)));
    // Last: whoever sees a request finds its prompt.
    TRY(WriteOnce(folder_ / (id + std::string(kRequest)), JsonText(ToJson(request), 2) + "\n"));
    ReadReply read;
    for (int sample = 0; sample < std::max(request.samples, 1); ++sample) {
      const auto answer = TRY(ReadAnswer(folder_ / AnswerName(id, sample)));
      if (!answer) return Awaiting(folder_, id, sample);
      read.samples.push_back(MakeSample(*answer, "stop"));
    }
    const ChatUsage usage = UsageOf(request, read);
    return ChatReply{std::move(read.samples), usage, "exchange"};
  }

 private:
  const fs::path folder_;
};

}  // namespace

Result<std::unique_ptr<ChatModel>> OpenExchange(const fs::path& folder) {
  TRY(CreateDirectories(folder));
  return std::unique_ptr<ChatModel>(std::make_unique<Exchange>(folder));
}

}  // namespace warpsmith::models
