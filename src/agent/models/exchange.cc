#include "agent/models/exchange.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "agent/models/reply_reader.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "core/serialize.h"

namespace warpsmith::models {
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
