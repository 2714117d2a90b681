#include "agent/models/endpoint.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::models {
namespace {

Result<double> PriceAt(const JsonReader& json, std::string_view key) {
  const double price = TRY(json.At(key).Number());
  if (std::isfinite(price) && price >= 0) return price;
  return json.At(key).Bad("a price of a million tokens, from 0");
}

using nlohmann::json;

constexpr double kLongestLimitS = 86'400;

Status TakeBool(const JsonReader& json, std::string_view key, bool* value) {
  if (json.Has(key)) *value = TRY(json.At(key).Bool());
  return {};
}

Status TakeText(const JsonReader& json, std::string_view key, std::string* value) {
  if (json.Has(key)) *value = TRY(json.At(key).String());
  return {};
}

Status TakeCount(const JsonReader& json, std::string_view key, int64_t lowest, int* value) {
  if (json.Has(key)) *value = static_cast<int>(TRY(json.At(key).IntIn(lowest, 1000)));
  return {};
}

Status TakeSeconds(const JsonReader& json, std::string_view key, std::chrono::milliseconds* value) {
  if (!json.Has(key)) return {};
  const double seconds = TRY(json.At(key).Number());
  if (!(seconds > 0 && seconds <= kLongestLimitS)) {
    return json.At(key).Bad("seconds, above 0 and at most a day");
  }
  *value = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1e3)));
  return {};
}

Result<Capabilities> CapabilitiesFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"token_limit_field", "many_samples", "seed", "sampling", "system_role",
                       "streaming", "stream_usage"}));
  Capabilities can;
  TRY(TakeText(json, "token_limit_field", &can.token_limit_field));
  const std::string& field = can.token_limit_field;
  if (!field.empty() && field != "max_tokens" && field != "max_completion_tokens") {
    return json.At("token_limit_field").Bad("max_tokens, max_completion_tokens or nothing");
  }
  TRY(TakeBool(json, "many_samples", &can.many_samples));
  TRY(TakeBool(json, "seed", &can.seed));
  TRY(TakeBool(json, "sampling", &can.sampling));
  TRY(TakeBool(json, "system_role", &can.system_role));
  TRY(TakeBool(json, "streaming", &can.streaming));
  TRY(TakeBool(json, "stream_usage", &can.stream_usage));
  return can;
}

json Message(const std::string& role, const std::string& text) {
  return {{"role", ValidUtf8(role)}, {"content", ValidUtf8(text)}};
}

json Messages(const Endpoint& endpoint, const ChatRequest& request) {
  json messages = json::array();
  std::string held_back;  // system texts that wait for a user's
  for (const ChatMessage& message : request.messages) {
    if (message.role == "system" && !endpoint.can.system_role) {
      held_back += message.text + "\n\n";
      continue;
    }
    const bool takes = message.role == "user";
    messages += Message(message.role, (takes ? held_back : "") + message.text);
    if (takes) held_back.clear();
  }
  if (!held_back.empty()) messages += Message("user", held_back);
  return messages;
}

void PutSampling(const Capabilities& can, const ChatSampling& sampling, int first_sample,
                 json* body) {
  if (can.sampling && sampling.temperature) (*body)["temperature"] = *sampling.temperature;
  if (can.sampling && sampling.top_p) (*body)["top_p"] = *sampling.top_p;
  if (can.seed && sampling.seed) {
    // Unsigned: a seed near the largest wraps instead of overflowing.
    const auto seed = static_cast<uint64_t>(*sampling.seed) + static_cast<uint64_t>(first_sample);
    (*body)["seed"] = static_cast<int64_t>(seed);
  }
  if (!can.token_limit_field.empty() && sampling.max_tokens) {
    (*body)[can.token_limit_field] = *sampling.max_tokens;
  }
  for (const std::string& stop : sampling.stop) (*body)["stop"] += ValidUtf8(stop);
}

}  // namespace

Result<Prices> PricesFrom(const JsonReader& json) {
  Prices prices;
  for (const auto& [model, price] : TRY(json.Fields())) {
    TRY(price.OnlyFields({"prompt_per_million", "completion_per_million"}));
    prices[model] = {TRY(PriceAt(price, "prompt_per_million")),
                     TRY(PriceAt(price, "completion_per_million"))};
  }
  return prices;
}

std::optional<double> CostOf(const Prices& prices, const std::string& model,
                             const ChatUsage& usage) {
  const auto found = prices.find(model);
  if (found == prices.end()) return std::nullopt;
  return (static_cast<double>(usage.prompt_tokens) * found->second.prompt_per_million +
          static_cast<double>(usage.completion_tokens) * found->second.completion_per_million) /
         1e6;
}

std::string UsualKeyVariable(const std::string& base_url) {
  const auto address = ReadHttpAddress(base_url);
  const bool is_own = address.ok() && address->is_secure && address->host == "api.openai.com";
  return is_own ? "OPENAI_API_KEY" : "";
}

Result<Endpoint> EndpointFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"base_url", "model", "key_variable", "plain_http", "can", "connect_limit_s",
                       "total_limit_s", "max_retries", "max_concurrent_calls"}));
  Endpoint endpoint;
  endpoint.base_url = TRY(json.At("base_url").String());
  endpoint.model = TRY(json.At("model").String());
  TRY(TakeText(json, "key_variable", &endpoint.key_variable));
  TRY(TakeBool(json, "plain_http", &endpoint.plain_http));
  if (json.Has("can")) endpoint.can = TRY(CapabilitiesFrom(json.At("can")));
  TRY(TakeSeconds(json, "connect_limit_s", &endpoint.connect_limit));
  TRY(TakeSeconds(json, "total_limit_s", &endpoint.total_limit));
  TRY(TakeCount(json, "max_retries", 0, &endpoint.retry.max_retries));
  TRY(TakeCount(json, "max_concurrent_calls", 1, &endpoint.max_concurrent_calls));
  return endpoint;
}

Status CheckAddress(const std::string& base_url, bool plain_http) {
  const HttpAddress address = TRY(ReadHttpAddress(base_url));
  if (plain_http || address.is_private()) return {};
  return Error{ErrorCode::kConfig,
               "plain http to another machine, " + address.host +
                   ": who is on the way reads the key, the prompts and the answers",
               "write https://, or if the network is yours allow it: --plain-http "
               "(\"plain_http\": true in an endpoint's file)"};
}

std::string RequestBody(const Endpoint& endpoint, const ChatRequest& request, int first_sample,
                        int samples) {
  json body{{"model", ValidUtf8(endpoint.model)}, {"messages", Messages(endpoint, request)}};
  PutSampling(endpoint.can, request.sampling, first_sample, &body);
  if (samples > 1) body["n"] = samples;
  if (endpoint.can.streaming) {
    body["stream"] = true;
    if (endpoint.can.stream_usage) body["stream_options"] = {{"include_usage", true}};
  }
  return JsonText(body);
}

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
