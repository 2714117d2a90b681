#include "agent/models/endpoint.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace warpsmith::models {
namespace {

using nlohmann::json;

json Body(const Endpoint& endpoint, const ChatRequest& request, int first = 0, int samples = 1) {
  return json::parse(RequestBody(endpoint, request, first, samples));
}

ChatRequest Request() {
  return {"lowering", {{"system", "rules"}, {"user", "question"}}, {0.5, 0.9, 100, 7, {"END"}}, 1};
}

TEST(RequestBody, HoldsWhatTheServerReads) {
  const Endpoint endpoint{"http://host/v1", "m", "", {}};
  EXPECT_EQ(Body(endpoint, Request()),
            json::parse(R"({"model":"m","messages":[{"role":"system","content":"rules"},
              {"role":"user","content":"question"}],"temperature":0.5,"top_p":0.9,
              "max_tokens":100,"seed":7,"stop":["END"]})"));
}

TEST(RequestBody, LeavesOutWhatItDoesNot) {
  Endpoint endpoint{"http://host/v1", "m", "", {}};
  endpoint.can = {"max_completion_tokens", true, false, false, false, true, true};
  EXPECT_EQ(Body(endpoint, Request(), 0, 3),
            json::parse(R"({"model":"m","n":3,"stop":["END"],"max_completion_tokens":100,
              "messages":[{"role":"user","content":"rules\n\nquestion"}],
              "stream":true,"stream_options":{"include_usage":true}})"));
}

TEST(RequestBody, EachSampleHasASeedOfItsOwn) {
  const Endpoint endpoint{"http://host/v1", "m", "", {}};
  EXPECT_EQ(Body(endpoint, Request(), 2)["seed"], 9);
}

TEST(RequestBody, SystemTextAloneBecomesTheUsers) {
  Endpoint endpoint{"http://host/v1", "m", "", {}};
  endpoint.can.system_role = false;
  const ChatRequest request{"state", {{"system", "only"}}, {}, 1};
  EXPECT_EQ(Body(endpoint, request)["messages"],
            json::parse(R"([{"role":"user","content":"only\n\n"}])"));
}

TEST(Endpoint, IsReadFromItsFields) {
  const json fields = json::parse(R"({"base_url":"https://host/v1","model":"m","key_variable":"K",
    "total_limit_s":0.25,"max_retries":0,"can":{"many_samples":true,"token_limit_field":""}})");
  const auto endpoint = EndpointFrom(JsonReader("models.toml", fields));
  ASSERT_TRUE(endpoint.ok()) << endpoint.error().Line();
  EXPECT_EQ(endpoint->total_limit, std::chrono::milliseconds(250));
  EXPECT_EQ(endpoint->retry.max_retries, 0);
  EXPECT_TRUE(endpoint->can.many_samples);
  EXPECT_FALSE(Body(*endpoint, Request()).contains("max_tokens"));
}

TEST(Endpoint, SaysWhatIsOff) {
  const auto message = [](const char* text) {
    const json fields = json::parse(text);
    const auto endpoint = EndpointFrom(JsonReader("m.toml", fields));
    return endpoint.ok() ? "" : endpoint.error().message;
  };
  EXPECT_EQ(message(R"({"model":"m"})"), "m.toml: base_url: expected a string, found nothing");
  EXPECT_EQ(message(R"({"base_url":"u","model":"m","total_limit_s":0})"),
            "m.toml: total_limit_s: expected seconds, above 0 and at most a day, found 0");
  EXPECT_EQ(message(R"({"base_url":"u","model":"m","can":{"token_limit_field":"n"}})"),
            "m.toml: can.token_limit_field: expected max_tokens, max_completion_tokens or nothing, "
            "found \"n\"");
}

TEST(Address, IsPlainHttpToThisMachineOnly) {
  for (const char* here : {"http://127.0.0.1:8080/v1", "http://127.9.9.9", "http://[::1]:80/v1",
                           "http://localhost:8080/v1", "http://LocalHost"}) {
    EXPECT_TRUE(CheckAddress(here).ok()) << here;
  }
  for (const char* elsewhere :
       {"http://host/v1", "http://10.0.0.1/v1", "http://127.0.0.1.example.com/v1", "http://[::2]/",
        "http://localhost.example.com", "http://0.0.0.0/", "http://api.openai.com/v1"}) {
    EXPECT_FALSE(CheckAddress(elsewhere).ok()) << elsewhere;
    EXPECT_TRUE(CheckAddress(elsewhere, true).ok()) << elsewhere;
  }
  for (const char* trick : {"http://127.0.0.1\\@host/", "http://127.0.0.1 host/"}) {
    EXPECT_FALSE(CheckAddress(trick, true).ok()) << trick;
  }
  EXPECT_TRUE(CheckAddress("https://host/v1").ok());
}

TEST(Address, TheUsualKeyGoesToItsOwnHostOnly) {
  EXPECT_EQ(UsualKeyVariable("https://api.openai.com/v1"), "OPENAI_API_KEY");
  EXPECT_EQ(UsualKeyVariable("https://API.openai.com:443/v1"), "OPENAI_API_KEY");
  for (const char* other :
       {"http://api.openai.com/v1", "https://host/v1", "https://api.openai.com.host/v1",
        "https://host/api.openai.com", "https://api.openai.com@host/v1", "http://127.0.0.1:8080/v1",
        "https://openai.com/v1", ""}) {
    EXPECT_EQ(UsualKeyVariable(other), "") << other;
  }
}

TEST(Address, MustBeAServersAndHoldNoSecret) {
  EXPECT_TRUE(CheckAddress("http://127.0.0.1:8080/v1").ok());
  EXPECT_TRUE(CheckAddress("https://host").ok());
  for (const char* wrong : {"", "host/v1", "file:///etc/passwd", "http://", "https:///v1"}) {
    EXPECT_FALSE(CheckAddress(wrong).ok()) << wrong;
  }
  const Status secret = CheckAddress("https://me:hunter2@host/v1");
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.error().Line().find("hunter2"), std::string::npos);
}

Result<Prices> Read(const char* text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  return PricesFrom(JsonReader("prices.toml", json));
}

TEST(Prices, CountBothKindsOfTokens) {
  const Prices prices =
      Read(R"({"m": {"prompt_per_million": 2, "completion_per_million": 8.5}})").value();
  EXPECT_DOUBLE_EQ(CostOf(prices, "m", {1'000'000, 2'000'000}).value(), 19);
  EXPECT_DOUBLE_EQ(CostOf(prices, "m", {500, 0}).value(), 0.001);
}

TEST(Prices, UnknownIsNotFree) { EXPECT_EQ(CostOf(Prices{}, "m", {1, 1}), std::nullopt); }

TEST(Prices, AreWholeAndNotNegative) {
  EXPECT_EQ(Read(R"({"m": {"prompt_per_million": 2}})").error().message,
            "prices.toml: m.completion_per_million: expected a number, \"nan\", \"inf\" or "
            "\"-inf\", found nothing");
  EXPECT_FALSE(Read(R"({"m": {"prompt_per_million": -1, "completion_per_million": 1}})").ok());
  EXPECT_FALSE(Read(R"({"m": {"prompt_per_million": "inf", "completion_per_million": 1}})").ok());
}

TEST(WholeReply, GivesTextReasonUsageAndModel) {
  const auto reply = ReadWholeReply("host", R"({"model":"m-1","choices":[
    {"index":0,"message":{"content":"code"},"finish_reason":"stop"},
    {"index":1,"message":{"content":"half"},"finish_reason":"length"}],
    "usage":{"prompt_tokens":7,"completion_tokens":9}})");
  ASSERT_TRUE(reply.ok()) << reply.error().Line();
  ASSERT_EQ(reply->samples.size(), 2U);
  EXPECT_EQ(reply->samples[0].text, "code");
  EXPECT_EQ(reply->samples[1].finish_reason, "length");
  EXPECT_EQ(reply->model, "m-1");
  const ChatUsage usage = UsageOf({}, *reply);
  EXPECT_EQ(usage.prompt_tokens, 7);
  EXPECT_EQ(usage.completion_tokens, 9);
  EXPECT_FALSE(usage.estimated);
}

TEST(WholeReply, MayLackEverythingButTheChoice) {
  const auto reply = ReadWholeReply("host", R"({"choices":[{"message":{"content":null}}]})");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->samples[0].text, "");
  const ChatRequest request{"state", {{"user", "äääääääää"}}, {}, 1};  // nine characters
  const ChatUsage usage = UsageOf(request, *reply);
  EXPECT_TRUE(usage.estimated);
  EXPECT_EQ(usage.prompt_tokens, 3);
  EXPECT_EQ(usage.completion_tokens, 0);
}

TEST(WholeReply, TakesTextFromPartsAndRefusals) {
  const auto parts = ReadWholeReply("host", R"({"choices":[{"message":{"content":[
    {"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}]})");
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->samples[0].text, "ab");
  const auto refusal =
      ReadWholeReply("host", R"({"choices":[{"message":{"content":null,"refusal":"I will not"},
                                "finish_reason":"stop"}]})");
  ASSERT_TRUE(refusal.ok());
  EXPECT_EQ(refusal->samples[0].finish_reason, "refusal");
  EXPECT_EQ(refusal->samples[0].text, "I will not");
}

TEST(WholeReply, BytesThatAreNoTextAreReplaced) {
  const auto reply =
      ReadWholeReply("host", "{\"choices\":[{\"message\":{\"content\":\"a\xff\"}}]}");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->samples[0].text, "a\xef\xbf\xbd");
}

TEST(WholeReply, SaysWhatIsWrong) {
  const auto message = [](std::string_view body) {
    const auto reply = ReadWholeReply("host", body);
    EXPECT_FALSE(reply.ok()) << body;
    return reply.ok() ? "" : reply.error().message;
  };
  EXPECT_EQ(message("{\"choices\":["),
            "the reply of host: line 1, column 13: not JSON: the text ends too early");
  EXPECT_EQ(message("[]"), "the reply of host is no JSON object");
  EXPECT_EQ(message("{\"choices\":[]}"), "the reply of host has no choices");
  EXPECT_EQ(message("{\"choices\":7}"), "the reply of host has no choices");
  EXPECT_EQ(message(R"({"error":{"message":"too\nlong"}})"),
            "host answered with an error: too long");
}

TEST(Sample, IsCutBetweenCharacters) {
  const ChatSample sample =
      MakeSample("x" + std::string(kMaxChatTextBytes - 2, 'y') + "äz", "stop");
  EXPECT_EQ(sample.finish_reason, "cut");
  EXPECT_EQ(sample.text.size(), kMaxChatTextBytes - 1);
  EXPECT_TRUE(IsUtf8(sample.text));
  EXPECT_EQ(MakeSample(std::string(kMaxChatTextBytes, 'y'), "stop").finish_reason, "stop");
}

TEST(StreamedReply, JoinsTheDeltasOfEachChoice) {
  StreamedReply reply("host");
  for (const char* data : {R"({"model":"m","choices":[{"index":1,"delta":{"content":"x"}}]})",
                           R"({"choices":[{"index":0,"delta":{"role":"assistant"}}]})",
                           R"({"choices":[{"index":0,"delta":{"content":"a"}}]})",
                           R"({"choices":[{"index":0,"delta":{"content":"b"}}]})",
                           R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"}) {
    ASSERT_TRUE(reply.Add(data).ok()) << data;
    EXPECT_FALSE(reply.complete());
  }
  ASSERT_TRUE(
      reply.Add(R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}})").ok());
  ASSERT_TRUE(reply.Add("[DONE]").ok());
  EXPECT_TRUE(reply.complete());
  const auto read = reply.Finish();
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->samples.size(), 2U);
  EXPECT_EQ(read->samples[0].text, "ab");
  EXPECT_EQ(read->samples[0].finish_reason, "stop");
  EXPECT_EQ(read->samples[1].text, "x");
  EXPECT_EQ(read->usage.completion_tokens, 2);
}

TEST(StreamedReply, RefusesWhatIsNoChunk) {
  EXPECT_FALSE(StreamedReply("host").Add("{").ok());
  EXPECT_FALSE(StreamedReply("host").Add(R"({"choices":[{"index":-1}]})").ok());
  EXPECT_FALSE(StreamedReply("host").Add(R"({"error":{"message":"overloaded"}})").ok());
  EXPECT_FALSE(StreamedReply("host").Finish().ok());
}

TEST(ServerMessage, IsOneLine) {
  EXPECT_EQ(ServerMessage(R"({"error":"no such\tmodel"})"), "no such model");
  EXPECT_EQ(ServerMessage(R"({"detail":"Not Found"})"), "Not Found");
  EXPECT_EQ(ServerMessage("<html>"), "");
  EXPECT_EQ(CutBetweenCharacters("aä", 2), "a");
}

}  // namespace

}  // namespace warpsmith::models
