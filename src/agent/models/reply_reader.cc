#include "agent/models/reply_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::models {
namespace {

using nlohmann::json;

constexpr size_t kMaxNameBytes = 200;
constexpr size_t kMaxChoices = 1024;
constexpr int64_t kMostTokens = int64_t{1} << 40;

// The field's value if it is a string, else nothing.
std::string_view TextAt(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto field = object.find(key);
  if (field == object.end() || !field->is_string()) return {};
  return field->get_ref<const std::string&>();
}

const json& FieldAt(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto field = object.find(key);
  return field == object.end() ? kNothing : *field;
}

std::optional<int64_t> CountAt(const json& object, const char* key) {
  const auto count = JsonReader("usage", object).At(key).IntIn(0, kMostTokens);
  if (!count.ok()) return std::nullopt;
  return *count;
}

void TakeUsage(const json& reply, ReadUsage* usage) {
  const json& found = FieldAt(reply, "usage");
  if (const auto count = CountAt(found, "prompt_tokens")) usage->prompt_tokens = count;
  if (const auto count = CountAt(found, "completion_tokens")) usage->completion_tokens = count;
}

void TakeModel(const json& reply, std::string* model) {
  const std::string_view name = TextAt(reply, "model");
  if (!name.empty()) *model = CutBetweenCharacters(name, kMaxNameBytes);
}

// Content is a string, or a list of parts of which some are text.
void AppendContent(const json& message, std::string* text) {
  const json& content = FieldAt(message, "content");
  const auto append = [&](std::string_view piece) {
    // A little over the limit, so that MakeSample sees that there was more.
    const size_t room = kMaxChatTextBytes + 8 - std::min(text->size(), kMaxChatTextBytes + 8);
    text->append(CutBetweenCharacters(piece, room));
  };
  append(TextAt(message, "content"));
  if (!content.is_array()) return;
  for (const json& part : content) append(TextAt(part, "text"));
}

// What a server says went wrong, in a reply or in the middle of a stream.
Status RefuseError(const std::string& source, const json& reply, std::string_view body) {
  if (!reply.is_object()) {
    return Error{ErrorCode::kBadInput, "the reply of " + source + " is no JSON object",
                 "look whether the base URL is that of a chat server"};
  }
  const json& error = FieldAt(reply, "error");
  if (error.is_null() || reply.contains("choices")) return {};
  return Error{ErrorCode::kBadInput, source + " answered with an error: " + ServerMessage(body),
               ""};
}

Error NoChoices(const std::string& source) {
  return {ErrorCode::kBadInput, "the reply of " + source + " has no choices",
          "ask again; if it stays so, look into the server's log"};
}

ChatSample SampleOf(std::string_view text, std::string_view refusal, std::string_view reason) {
  if (text.empty() && !refusal.empty()) return MakeSample(refusal, "refusal");
  return MakeSample(text, std::string(CutBetweenCharacters(reason, kMaxNameBytes)));
}

size_t Quarter(size_t characters) { return (characters + 3) / 4; }

size_t Characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string_view CutBetweenCharacters(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

ChatSample MakeSample(std::string_view text, std::string finish_reason) {
  std::string valid = ValidUtf8(text);
  if (valid.size() <= kMaxChatTextBytes) return {std::move(valid), std::move(finish_reason)};
  return {std::string(CutBetweenCharacters(valid, kMaxChatTextBytes)), "cut"};
}

Result<ReadReply> ReadWholeReply(const std::string& source, std::string_view body) {
  const std::string valid = ValidUtf8(body);
  const json reply = TRY(ParseJson("the reply of " + source, valid));
  TRY(RefuseError(source, reply, valid));
  ReadReply read;
  const json& choices = FieldAt(reply, "choices");
  if (!choices.is_array() || choices.empty()) return NoChoices(source);
  if (choices.size() > kMaxChoices) {
    return Error{ErrorCode::kBadInput,
                 "the reply of " + source + " has " + std::to_string(choices.size()) + " choices",
                 "no more than 1024 are read"};
  }
  for (const json& choice : choices) {
    const json& message = FieldAt(choice, "message");
    std::string text;
    AppendContent(message, &text);
    read.samples.push_back(
        SampleOf(text, TextAt(message, "refusal"), TextAt(choice, "finish_reason")));
  }
  TakeUsage(reply, &read.usage);
  TakeModel(reply, &read.model);
  return read;
}

Status StreamedReply::Add(std::string_view data) {
  if (done_) return {};
  if (data == "[DONE]") {
    done_ = true;
    return {};
  }
  if (data.empty()) return {};
  const std::string valid = ValidUtf8(data);
  const json chunk = TRY(ParseJson("a streamed reply of " + source_, valid));
  TRY(RefuseError(source_, chunk, valid));
  const json& choices = FieldAt(chunk, "choices");
  if (choices.is_array()) {
    for (const json& choice : choices) TRY(AddChoice(choice));
  }
  TakeUsage(chunk, &usage_);
  TakeModel(chunk, &model_);
  return {};
}

Status StreamedReply::AddChoice(const json& choice) {
  const JsonReader reader("a streamed reply of " + source_, choice);
  const int64_t index = reader.Has("index") ? TRY(reader.At("index").IntIn(0, kMaxChoices - 1)) : 0;
  Choice& into = choices_[index];
  const json& delta = FieldAt(choice, "delta");
  AppendContent(delta, &into.text);
  into.refusal +=
      CutBetweenCharacters(TextAt(delta, "refusal"),
                           kMaxChatTextBytes - std::min(into.refusal.size(), kMaxChatTextBytes));
  const std::string_view reason = TextAt(choice, "finish_reason");
  if (!reason.empty()) into.finish_reason = reason;
  return {};
}

bool StreamedReply::complete() const {
  if (done_) return true;
  return !choices_.empty() && std::ranges::all_of(choices_, [](const auto& entry) {
    return !entry.second.finish_reason.empty();
  });
}

Result<ReadReply> StreamedReply::Finish() const {
  if (choices_.empty()) return NoChoices(source_);
  ReadReply read{{}, usage_, model_};
  for (const auto& [index, choice] : choices_) {
    read.samples.push_back(SampleOf(choice.text, choice.refusal, choice.finish_reason));
  }
  return read;
}

std::string ServerMessage(std::string_view body) {
  const std::string valid = ValidUtf8(body);
  const auto parsed = ParseJson("", valid);
  std::string message;
  if (parsed.ok()) {
    const json& error = FieldAt(*parsed, "error");
    message = TextAt(error, "message");
    if (message.empty()) message = TextAt(*parsed, "error");
    if (message.empty()) message = TextAt(*parsed, "message");
    if (message.empty()) message = TextAt(*parsed, "detail");
  }
  std::ranges::replace_if(message, IsControl, ' ');
  return message;
}

ChatUsage UsageOf(const ChatRequest& request, const ReadReply& reply) {
  ChatUsage usage;
  usage.estimated = !reply.usage.prompt_tokens || !reply.usage.completion_tokens;
  size_t prompt = 0, completion = 0;
  for (const ChatMessage& message : request.messages) prompt += Characters(message.text);
  for (const ChatSample& sample : reply.samples) completion += Characters(sample.text);
  usage.prompt_tokens = reply.usage.prompt_tokens.value_or(static_cast<int64_t>(Quarter(prompt)));
  usage.completion_tokens =
      reply.usage.completion_tokens.value_or(static_cast<int64_t>(Quarter(completion)));
  return usage;
}

}  // namespace warpsmith::models
