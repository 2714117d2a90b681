#include "agent/models/endpoint.h"

#include <nlohmann/json.hpp>

#include <cmath>

#include "base/json_reader.h"
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

}  // namespace warpsmith::models
