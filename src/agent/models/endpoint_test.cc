#include "agent/models/endpoint.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

}  // namespace

}  // namespace warpsmith::models
