#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/serialize.h"

namespace warpsmith {
namespace {

ChatRequest Request() {
  return {"lowering", {{"system", "be brief"}, {"user", "write a kernel"}}, {}, 2};
}

TEST(ChatRequest, IsTheSameWhenItIsReadAgain) {
  ChatRequest request = Request();
  request.sampling = {0.25, 0.5, 4096, -3, {"```"}};
  const nlohmann::json written = ToJson(request);
  const auto read = ChatRequestFrom(JsonReader("request", written)).value();
  EXPECT_EQ(ToJson(read), written);
  EXPECT_EQ(RequestId(read), RequestId(request));
}

TEST(ChatRequest, EveryPartCountsInItsId) {
  const std::string id = RequestId(Request());
  const auto differs = [&](auto change) {
    ChatRequest request = Request();
    change(request);
    return RequestId(request) != id;
  };
  EXPECT_EQ(RequestId(Request()), id);
  EXPECT_TRUE(differs([](ChatRequest& request) { request.role = "state"; }));
  EXPECT_TRUE(differs([](ChatRequest& request) { request.samples = 3; }));
  EXPECT_TRUE(differs([](ChatRequest& request) { request.messages[1].text += " "; }));
  EXPECT_TRUE(differs([](ChatRequest& request) { request.messages[0].role = "user"; }));
  EXPECT_TRUE(differs([](ChatRequest& request) { request.sampling.seed = 0; }));
  EXPECT_TRUE(differs([](ChatRequest& request) { request.sampling.temperature = 0; }));
}

TEST(ChatRequest, TextThatIsNotUtf8HasAnIdToo) {
  ChatRequest request = Request();
  request.messages[0].text = "\xff";
  EXPECT_EQ(RequestId(request).size(), 64U);
}

TEST(ChatReply, IsTheSameWhenItIsReadAgain) {
  const ChatReply reply{{{"code", "stop"}, {"", "length"}}, {10, 20, true}, "small"};
  const nlohmann::json written = ToJson(reply);
  const auto read = ChatReplyFrom(JsonReader("reply", written)).value();
  EXPECT_EQ(ToJson(read), written);
  EXPECT_TRUE(read.usage.estimated);
}

TEST(ChatReply, WithoutASampleIsRefused) {
  const nlohmann::json written{
      {"samples", nlohmann::json::array()}, {"prompt_tokens", 1}, {"completion_tokens", 1}};
  const auto read = ChatReplyFrom(JsonReader("reply", written));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message,
            "reply: samples: expected at least one sample, found an array of 0");
}

}  // namespace
}  // namespace warpsmith
