// What model servers send: streams of events, replies, times to wait; and recordings of replies.
#include <nlohmann/json.hpp>

#include "agent/models/client.h"
#include "agent/models/endpoint.h"
#include "agent/models/recorded.h"
#include "base/http.h"
#include "base/utf8.h"
#include "core/serialize.h"
#include "fuzz.h"

using namespace warpsmith;
using namespace warpsmith::models;

namespace {

using Events = std::vector<ServerEvent>;

// The events of the text fed in pieces of `bytes`.
Events EventsOf(std::string_view text, size_t bytes) {
  ServerEventParser parser;
  Events all;
  const auto keep = [&](const Events& events) {
    all.insert(all.end(), events.begin(), events.end());
  };
  for (; !text.empty(); text.remove_prefix(std::min(bytes, text.size()))) {
    keep(parser.Feed(text.substr(0, bytes)));
  }
  keep(parser.Finish());
  return all;
}

void MustBeSound(const Result<ReadReply>& read) {
  const ReadReply* reply = fuzz::ValueOf(read);
  if (reply == nullptr) return;
  CHECK(!reply->samples.empty());
  for (const ChatSample& sample : reply->samples) {
    CHECK(IsUtf8(sample.text) && sample.text.size() <= kMaxChatTextBytes);
  }
  const ChatUsage usage = UsageOf({}, *reply);
  CHECK(usage.prompt_tokens >= 0 && usage.completion_tokens >= 0);
  const nlohmann::json written = ToJson(ChatReply{reply->samples, usage, reply->model});
  CHECK(ToJson(ChatReplyFrom(JsonReader("written", written)).value()) == written);
}

void ReadStream(std::string_view text) {
  const Events events = EventsOf(text, text.size());
  for (size_t bytes : {1, 2, 3, 7}) CHECK(EventsOf(text, bytes) == events);
  StreamedReply reply("server");
  for (const ServerEvent& event : events) {
    if (!fuzz::Succeeded(reply.Add(event.data))) return;
  }
  MustBeSound(reply.Finish());
}

void ReadWait(std::string_view text) {
  for (const char* name : {"retry-after", "retry-after-ms"}) {
    const auto wait = RetryAfter({429, {{name, std::string(text)}}, ""}, 0);
    CHECK(!wait || wait->count() >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [reader, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (reader == "stream") {
    ReadStream(text);
  } else if (reader == "reply") {
    MustBeSound(ReadWholeReply("server", text));
    CHECK(IsUtf8(ServerMessage(text)));
  } else if (reader == "wait") {
    ReadWait(text);
  } else if (reader == "recording") {
    fuzz::ValueOf(ReadRecording("recording", text));
  }
  return 0;
}
