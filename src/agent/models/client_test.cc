#include "agent/models/client.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/tests/scripted_server.h"
#include "base/utf8.h"

namespace warpsmith::models {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr char kVariable[] = "WARPSMITH_TEST_MODEL_KEY";
constexpr char kKey[] = "sk-very-secret";

const char kReply[] = R"({"model":"m-1","choices":[{"message":{"content":"code"},
  "finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}})";

Answer Ok() { return {{Http(200, "", kReply)}}; }
Answer AnswerWith(int status, const std::string& headers = "", const std::string& body = "{}") {
  return {{Http(status, headers, body)}};
}

// A proxy of the machine's must not come between.
class ClientTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("no_proxy", "*", 1);
    setenv(kVariable, kKey, 1);
  }
};

Endpoint EndpointAt(const std::string& url) {
  Endpoint endpoint{url, "m", kVariable, {}};
  endpoint.retry = {2, milliseconds(1), milliseconds(2)};
  endpoint.total_limit = milliseconds(2000);
  return endpoint;
}

ChatRequest Question(int samples = 1) { return {"lowering", {{"user", "hello"}}, {}, samples}; }

Result<ChatReply> Ask(const Endpoint& endpoint, int samples = 1, std::stop_token stop = {}) {
  const auto client = TRY(ConnectTo(endpoint, std::move(stop)));
  return client->Complete(Question(samples));
}

Error ErrorOf(const Endpoint& endpoint) {
  const Result<ChatReply> reply = Ask(endpoint);
  EXPECT_FALSE(reply.ok());
  return reply.ok() ? Error{} : reply.error();
}

TEST_F(ClientTest, AsksWithTheKeyAndReadsTheReply) {
  const ScriptedServer server({Ok()});
  const auto reply = Ask(EndpointAt(server.url() + "/v1")).value();
  EXPECT_EQ(reply.samples.at(0).text, "code");
  EXPECT_EQ(reply.samples.at(0).finish_reason, "stop");
  EXPECT_EQ(reply.usage.completion_tokens, 4);
  EXPECT_EQ(reply.model, "m-1");
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /v1/chat/completions HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer sk-very-secret\r\n"));
  EXPECT_THAT(request,
              HasSubstr(R"({"messages":[{"content":"hello","role":"user"}],"model":"m"})"));
}

TEST_F(ClientTest, ReadsAStreamHoweverItIsCut) {
  const std::string stream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"co\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"de\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n"
      "data: [DONE]\n\n";
  Answer answer{{}, milliseconds(1)};
  for (size_t i = 0; i < stream.size(); i += 11) answer.pieces.push_back(stream.substr(i, 11));
  const ScriptedServer server({answer});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.can.streaming = true;
  const auto reply = Ask(endpoint).value();
  EXPECT_EQ(reply.samples.at(0).text, "code");
  EXPECT_EQ(reply.usage.prompt_tokens, 3);
  EXPECT_FALSE(reply.usage.estimated);
}

// The server says that it is done, or that every sample has ended, and does not hang up.
TEST_F(ClientTest, AStreamThatEndedIsKeptThoughTheConnectionStaysOpen) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"code\"},\"finish_reason\":\"stop\"}]}\n\n";
  for (const std::string& end : {std::string("data: [DONE]\n\n"), std::string()}) {
    const ScriptedServer server({Answer{{head + end}, milliseconds(0), milliseconds(30'000)}});
    Endpoint endpoint = EndpointAt(server.url() + "/v1");
    endpoint.can.streaming = true;
    endpoint.retry.max_retries = 0;
    endpoint.total_limit = milliseconds(end.empty() ? 500 : 20'000);
    const auto begun = std::chrono::steady_clock::now();
    const auto reply = Ask(endpoint).value();
    EXPECT_EQ(reply.samples.at(0).text, "code");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  }
}

TEST_F(ClientTest, AsksAgainAfterAStreamThatIsCutOff) {
  const std::string half = "data: {\"choices\":[{\"delta\":{\"content\":\"co\"}}]}\n\n";
  const ScriptedServer server({AnswerWith(200, "", half), Ok()});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.can.streaming = true;
  const auto reply = Ask(endpoint).value();
  EXPECT_EQ(reply.samples.at(0).text, "code");
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsks) {
  const ScriptedServer server({AnswerWith(429, "Retry-After-Ms: 120\r\n"), Ok()});
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(Ask(EndpointAt(server.url() + "/v1")).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(120));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(ClientTest, DoesNotWaitPastItsLimit) {
  const ScriptedServer server({AnswerWith(429, "Retry-After: 30\r\n")});
  const Error error = ErrorOf(EndpointAt(server.url() + "/v1"));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.Line(), HasSubstr("failed 1 time: HTTP 429"));
}

TEST_F(ClientTest, AsksAgainAfterAServersFault) {
  const ScriptedServer server({AnswerWith(500), AnswerWith(503), Ok()});
  ASSERT_TRUE(Ask(EndpointAt(server.url() + "/v1")).ok());
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(ClientTest, GivesUpAfterTheRetries) {
  const ScriptedServer server({AnswerWith(500, "", R"({"error":{"message":"out of memory"}})")});
  const Error error = ErrorOf(EndpointAt(server.url() + "/v1"));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("failed 3 times: HTTP 500: out of memory"));
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(ClientTest, ASlowServerEndsInATimeOut) {
  const ScriptedServer server({{{Http(200, "", kReply)}, milliseconds(5000)}});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.total_limit = milliseconds(60);
  const Error error = ErrorOf(endpoint);
  EXPECT_EQ(error.code, ErrorCode::kTimeout);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(ClientTest, AsksAgainAfterABodyThatIsCutOff) {
  const std::string whole = Http(200, "", kReply);
  const ScriptedServer server({{{whole.substr(0, whole.size() - 20)}}, Ok()});
  ASSERT_TRUE(Ask(EndpointAt(server.url() + "/v1")).ok());
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(ClientTest, WhatIsNoReplyIsTold) {
  for (const auto& [body, words] :
       {std::pair("{\"choices\":", "not JSON"), std::pair("{\"choices\":[]}", "no choices"),
        std::pair("<html>", "not JSON"), std::pair("", "was cut off"),
        std::pair(R"({"error":{"message":"overloaded"}})", "overloaded")}) {
    const ScriptedServer server({AnswerWith(200, "", body)});
    const Error error = ErrorOf(EndpointAt(server.url() + "/v1"));
    EXPECT_THAT(error.message, HasSubstr(words));
  }
}

TEST_F(ClientTest, AHugeReplyIsRefusedBeforeItIsHeld) {
  Answer endless{{"HTTP/1.1 200 OK\r\n\r\n{"}};
  for (int i = 0; i < 64; ++i) endless.pieces.emplace_back(1 << 16, ' ');
  const ScriptedServer server({endless});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  EXPECT_EQ(endpoint.max_reply_bytes, size_t{50} << 20);
  endpoint.max_reply_bytes = 1 << 20;
  const Error error = ErrorOf(endpoint);
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_THAT(error.message, HasSubstr("larger than 1048576 bytes"));
}

TEST_F(ClientTest, ARefusedConnectionIsTriedAgainThenTold) {
  std::string url;
  {
    const ScriptedServer gone({Ok()});
    url = gone.url();
  }
  const Error error = ErrorOf(EndpointAt(url));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr(url));
  EXPECT_THAT(error.message, HasSubstr("failed 3 times"));
}

TEST_F(ClientTest, AWrongUrlSaysWhatToLookAt) {
  const ScriptedServer server({AnswerWith(404, "", R"({"detail":"Not Found"})")});
  const Error error = ErrorOf(EndpointAt(server.url() + "/v1"));
  EXPECT_EQ(error.code, ErrorCode::kConfig);
  EXPECT_THAT(error.message, HasSubstr("HTTP 404: Not Found"));
  EXPECT_THAT(error.fix, HasSubstr("base URL"));
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(ErrorOf(EndpointAt("ftp://host/v1")).code, ErrorCode::kConfig);
}

TEST_F(ClientTest, RedirectionsAreNotFollowed) {
  const ScriptedServer server({AnswerWith(307, "Location: http://127.0.0.1:1/\r\n")});
  EXPECT_EQ(ErrorOf(EndpointAt(server.url() + "/v1")).code, ErrorCode::kConfig);
}

TEST_F(ClientTest, AMissingKeyIsToldByItsVariable) {
  unsetenv(kVariable);
  const Error error = ErrorOf(EndpointAt("http://127.0.0.1:1/v1"));
  EXPECT_EQ(error.code, ErrorCode::kConfig);
  EXPECT_THAT(error.message, HasSubstr(kVariable));
  setenv(kVariable, "two\nlines", 1);
  EXPECT_THAT(ErrorOf(EndpointAt("http://127.0.0.1:1/v1")).Line(), Not(HasSubstr("two")));
}

TEST_F(ClientTest, TheKeyIsNeverRepeated) {
  const std::string repeated = R"({"error":{"message":"wrong key sk-very-secret"}})";
  for (int status : {401, 400, 500, 200}) {
    const ScriptedServer server({AnswerWith(status, "", repeated)});
    const Error error = ErrorOf(EndpointAt(server.url() + "/v1"));
    EXPECT_THAT(error.Line(), HasSubstr("wrong key [key]")) << status;
    EXPECT_THAT(error.Line(), Not(HasSubstr(kKey))) << status;
  }
  const ScriptedServer server(
      {AnswerWith(200, "", R"({"choices":[{"message":{"content":"x sk-very-secret y"}}]})")});
  const auto reply = Ask(EndpointAt(server.url() + "/v1"));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->samples.at(0).text, "x [key] y");
}

TEST_F(ClientTest, BytesThatAreNoTextAreReplaced) {
  const ScriptedServer server(
      {AnswerWith(200, "", "{\"choices\":[{\"message\":{\"content\":\"a\xff\xc3\"}}]}")});
  const auto reply = Ask(EndpointAt(server.url() + "/v1")).value();
  EXPECT_TRUE(IsUtf8(reply.samples.at(0).text));
  EXPECT_TRUE(reply.usage.estimated);
}

TEST_F(ClientTest, StopsAtOnceWhenAsked) {
  const ScriptedServer server({{{Http(200, "", kReply)}, milliseconds(30'000)}});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.total_limit = milliseconds(30'000);
  endpoint.max_concurrent_calls = 1;  // the second sample waits for a slot
  std::stop_source source;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    source.request_stop();
  });
  const auto began = std::chrono::steady_clock::now();
  const auto reply = Ask(endpoint, 2, source.get_token());
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(2000));
}

TEST_F(ClientTest, StopsInTheWaitBeforeARetry) {
  const ScriptedServer server({AnswerWith(429, "Retry-After: 20\r\n")});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.total_limit = milliseconds(30'000);
  std::stop_source source;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    source.request_stop();
  });
  const auto reply = Ask(endpoint, 1, source.get_token());
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kInterrupted);
}

TEST_F(ClientTest, SamplesAreAskedForOneByOneWithinTheBound) {
  const ScriptedServer server({{{Http(200, "", kReply)}, milliseconds(20)}});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.max_concurrent_calls = 2;
  const auto reply = Ask(endpoint, 6).value();
  EXPECT_EQ(reply.samples.size(), 6U);
  EXPECT_EQ(reply.usage.prompt_tokens, 18);
  EXPECT_LE(server.most_at_once(), 2);
  EXPECT_EQ(server.requests().size(), 6U);
}

TEST_F(ClientTest, AServerThatIgnoresNIsAskedForTheRest) {
  const ScriptedServer server({Ok()});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.can.many_samples = true;
  const auto reply = Ask(endpoint, 3);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->samples.size(), 3U);
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_THAT(server.requests()[0], HasSubstr("\"n\":3"));
  EXPECT_THAT(server.requests()[1], Not(HasSubstr("\"n\":")));
}

TEST_F(ClientTest, SomeSamplesAreBetterThanNone) {
  const ScriptedServer server({Ok(), AnswerWith(400)});
  Endpoint endpoint = EndpointAt(server.url() + "/v1");
  endpoint.max_concurrent_calls = 1;
  const auto reply = Ask(endpoint, 3);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->samples.size(), 1U);
}

TEST(CompletionsUrl, GoesBeforeAQuery) {
  EXPECT_EQ(CompletionsUrl("http://h/v1/"), "http://h/v1/chat/completions");
  EXPECT_EQ(CompletionsUrl("http://h/v1?api=2"), "http://h/v1/chat/completions?api=2");
}

std::vector<ServerEvent> ParseWhole(std::string_view text) {
  ServerEventParser parser;
  std::vector<ServerEvent> events = parser.Feed(text);
  for (ServerEvent& event : parser.Finish()) events.push_back(std::move(event));
  return events;
}

using Events = std::vector<ServerEvent>;

TEST(ServerEvents, AreDataUpToABlankLine) {
  EXPECT_EQ(ParseWhole("data: one\n\ndata: two\n\n"), (Events{{"", "one"}, {"", "two"}}));
  EXPECT_EQ(ParseWhole("data: a\ndata: b\n\n"), (Events{{"", "a\nb"}}));
  EXPECT_EQ(ParseWhole("event: error\ndata:{}\n\n"), (Events{{"error", "{}"}}));
}

TEST(ServerEvents, EveryKindOfLineEndIsOne) {
  EXPECT_EQ(ParseWhole("data: a\r\n\r\ndata: b\r\rdata: c\n\n"),
            (Events{{"", "a"}, {"", "b"}, {"", "c"}}));
}

TEST(ServerEvents, CommentsUnknownFieldsAndEmptyEventsAreSkipped) {
  EXPECT_EQ(ParseWhole(": keep-alive\n\nid: 7\nretry: 3\n\nevent: ping\n\ndata\n\n"),
            (Events{{"", ""}}));
}

TEST(ServerEvents, ByteOrderMarkOnlyCountsAtTheStart) {
  EXPECT_EQ(ParseWhole("\xef\xbb\xbf"
                       "data: a\n\n\xef\xbb\xbf"
                       "data: b\n\n"),
            (Events{{"", "a"}}));
}

TEST(ServerEvents, TheLastBlankLineMayBeMissing) {
  EXPECT_EQ(ParseWhole("data: [DONE]"), (Events{{"", "[DONE]"}}));
  EXPECT_EQ(ParseWhole(""), Events{});
}

RC_GTEST_PROP(ServerEvents, DoNotDependOnWhereTheStreamIsCut, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("data:", " ", "\n", "\r", "\r\n", "\n\n", "x", "\xef\xbb\xbf",
                                    "event: e", ":", "\xc3", "\xa9", "[DONE]", "id"));
  std::string whole;
  ServerEventParser parser;
  Events cut;
  const auto keep = [&](Events events) { cut.insert(cut.end(), events.begin(), events.end()); };
  for (const std::string& piece : pieces) {
    whole += piece;
    const auto at = *rc::gen::inRange<size_t>(0, piece.size() + 1);
    keep(parser.Feed(std::string_view(piece).substr(0, at)));
    keep(parser.Feed(std::string_view(piece).substr(at)));
  }
  keep(parser.Finish());
  RC_ASSERT(cut == ParseWhole(whole));
}

}  // namespace

}  // namespace warpsmith::models
