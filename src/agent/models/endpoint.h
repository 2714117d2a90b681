// A model server: where it is, what it can do, and how its answers are read. Servers that speak
// OpenAI's protocol differ in all of this, so nothing is guessed.
#ifndef WARPSMITH_AGENT_MODELS_ENDPOINT_H_
#define WARPSMITH_AGENT_MODELS_ENDPOINT_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/http.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

struct Capabilities {
  // The field that limits a sample: "max_tokens", "max_completion_tokens", or "" (there is none).
  std::string token_limit_field = "max_tokens";
  bool many_samples = false;  // reads n; else one call a sample
  bool seed = true;
  bool sampling = true;     // temperature and top_p; reasoning models refuse them
  bool system_role = true;  // else system texts go before the first of the user's
  bool streaming = false;
  bool stream_usage = true;  // reads stream_options.include_usage
};

struct Endpoint {
  std::string base_url;  // "https://host/v1"
  std::string model;
  std::string key_variable;  // environment variable that holds the key; empty: no key is sent
  bool plain_http = false;   // http to another machine, where everyone on the way reads along
  Capabilities can = {};
  RetryPolicy retry = {};
  std::chrono::milliseconds connect_limit{5'000};
  std::chrono::milliseconds total_limit{600'000};  // of one call with its retries and waits
  int max_concurrent_calls = 4;
  size_t max_reply_bytes = size_t{50} << 20;
};

// Fields: base_url, model, key_variable, plain_http, connect_limit_s, total_limit_s, max_retries,
// max_concurrent_calls, and can = {the names above}. kBadInput names what is off.
Result<Endpoint> EndpointFrom(const JsonReader& json);

// As ReadHttpAddress; kConfig for plain http to another machine, too, unless `plain_http`.
Status CheckAddress(const std::string& base_url, bool plain_http = false);

// The variable whose key is sent where none is named: $OPENAI_API_KEY to OpenAI's own server over
// https, and to no other; else empty. Whether it is set is not looked at.
std::string UsualKeyVariable(const std::string& base_url);

// The JSON of one call for `samples` samples, the first of which is the request's `first_sample`-th
// (each has a seed of its own).
std::string RequestBody(const Endpoint& endpoint, const ChatRequest& request, int first_sample,
                        int samples);

// What tokens cost.
struct Price {
  double prompt_per_million = 0, completion_per_million = 0;  // tokens; in the user's currency
};

using Prices = std::map<std::string, Price, std::less<>>;  // by the model's exact name

// {"<model>": {"prompt_per_million": x, "completion_per_million": y}, ...}; both must be there.
Result<Prices> PricesFrom(const JsonReader& json);

// Nothing for a model without a price: unknown is not free.
std::optional<double> CostOf(const Prices& prices, const std::string& model,
                             const ChatUsage& usage);

// --- What servers answer to a chat completion, whole or streamed. Servers disagree about nearly
// everything but where the text is, so everything else may be absent.

struct ReadUsage {
  std::optional<int64_t> prompt_tokens, completion_tokens;
};

// A reply as far as the server gave it. Texts are valid UTF-8 of at most kMaxChatTextBytes.
struct ReadReply {
  std::vector<ChatSample> samples;  // by index; at least one
  ReadUsage usage;
  std::string model;
};

// At most `most` bytes of valid UTF-8, no character cut in two.
std::string_view CutBetweenCharacters(std::string_view text, size_t most);

// Text for a sample: cut to kMaxChatTextBytes between characters, then its finish reason is "cut".
ChatSample MakeSample(std::string_view text, std::string finish_reason);

// `source` names the server in errors. kBadInput: not JSON, no choices, or an error object, whose
// message is then told.
Result<ReadReply> ReadWholeReply(const std::string& source, std::string_view body);

// Collects the events of a streamed reply.
class StreamedReply {
 public:
  explicit StreamedReply(std::string source) : source_(std::move(source)) {}
  // The data of one event.
  Status Add(std::string_view data);
  // Whether the server came to an end: [DONE], or a finish reason for every choice.
  bool complete() const;
  bool done() const { return done_; }  // the server said that nothing more comes
  // kBadInput when there was no choice.
  Result<ReadReply> Finish() const;

 private:
  struct Choice {
    std::string text, refusal, finish_reason;
  };
  Status AddChoice(const nlohmann::json& json);

  std::string source_;
  std::map<int64_t, Choice> choices_;
  ReadUsage usage_;
  std::string model_;
  bool done_ = false;
};

// The "message" of an error object in a body, on one line of any length; empty if there is none.
std::string ServerMessage(std::string_view body);

// Usage as the server gave it, else a quarter of the characters of messages and samples.
ChatUsage UsageOf(const ChatRequest& request, const ReadReply& reply);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_ENDPOINT_H_
