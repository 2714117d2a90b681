#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "core/serialize.h"

namespace warpsmith {

using nlohmann::json;
using namespace json_fields;

namespace {

json ToJson(const ChatMessage& message) {
  return {{"role", Value(message.role)}, {"text", Value(message.text)}};
}

Result<ChatMessage> MessageFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"role", "text"}));
  ChatMessage message;
  TRY(ReadName(json.At("role"), message.role));
  TRY(Need(json, "text", message.text));
  return message;
}

json ToJson(const ChatSampling& sampling) {
  json object = json::object();
  Put(object, "temperature", sampling.temperature);
  Put(object, "top_p", sampling.top_p);
  Put(object, "max_tokens", sampling.max_tokens);
  Put(object, "seed", sampling.seed);
  Put(object, "stop", sampling.stop);
  return object;
}

Result<ChatSampling> ChatSamplingFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"temperature", "top_p", "max_tokens", "seed", "stop"}));
  ChatSampling sampling;
  TRY(Take(json, "temperature", sampling.temperature));
  TRY(Take(json, "top_p", sampling.top_p));
  TRY(Take(json, "max_tokens", sampling.max_tokens));
  if (json.Has("seed")) sampling.seed = TRY(json.At("seed").Int());
  TRY(Take(json, "stop", sampling.stop));
  return sampling;
}

json ToJson(const ChatSample& sample) {
  return {{"text", Value(sample.text)}, {"finish_reason", Value(sample.finish_reason)}};
}

Result<ChatSample> SampleFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"text", "finish_reason"}));
  ChatSample sample;
  TRY(Need(json, "text", sample.text));
  TRY(Need(json, "finish_reason", sample.finish_reason));
  if (sample.text.size() > kMaxChatTextBytes) return json.At("text").Bad("at most 4 MiB");
  return sample;
}

}  // namespace

json ToJson(const ChatRequest& request) {
  json object{{"asker", Value(request.asker)}, {"samples", request.samples}};
  object["messages"] = json::array();
  for (const ChatMessage& message : request.messages) object["messages"] += ToJson(message);
  const json sampling = ToJson(request.sampling);
  if (!sampling.empty()) object["sampling"] = sampling;
  return object;
}

Result<ChatRequest> ChatRequestFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"asker", "samples", "messages", "sampling"}));
  ChatRequest request;
  TRY(Need(json, "asker", request.asker));
  request.samples = static_cast<int>(TRY(json.At("samples").IntIn(1, kMaxItems)));
  TRY(ReadList(json.At("messages"), request.messages, MessageFrom));
  if (json.Has("sampling")) request.sampling = TRY(ChatSamplingFrom(json.At("sampling")));
  return request;
}

json ToJson(const ChatReply& reply) {
  json object{{"prompt_tokens", reply.usage.prompt_tokens},
              {"completion_tokens", reply.usage.completion_tokens},
              {"samples", json::array()}};
  for (const ChatSample& sample : reply.samples) object["samples"] += ToJson(sample);
  Put(object, "model", reply.model, std::string());
  Put(object, "tokens_estimated", reply.usage.estimated, false);
  return object;
}

Result<ChatReply> ChatReplyFrom(const JsonReader& json) {
  TRY(json.OnlyFields(
      {"samples", "prompt_tokens", "completion_tokens", "tokens_estimated", "model"}));
  ChatReply reply;
  TRY(ReadList(json.At("samples"), reply.samples, SampleFrom));
  if (reply.samples.empty()) return json.At("samples").Bad("at least one sample");
  TRY(Need(json, "prompt_tokens", reply.usage.prompt_tokens));
  TRY(Need(json, "completion_tokens", reply.usage.completion_tokens));
  TRY(Take(json, "tokens_estimated", reply.usage.estimated));
  TRY(Take(json, "model", reply.model));
  return reply;
}

}  // namespace warpsmith
