#include "agent/models/reply_reader.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace warpsmith::models {
namespace {

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
