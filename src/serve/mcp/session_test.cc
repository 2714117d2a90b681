#include "serve/mcp/session.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "serve/mcp/message.h"

namespace warpsmith::mcp {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                              R"("io.modelcontextprotocol/clientCapabilities":{}})";

std::vector<Tool> Tools() {
  return {
      {"look", "Look", "looks", R"({"type":"object","additionalProperties":false})", "", true,
       true},
      {"judge", "Judge", "judges", R"({"type":"object"})", R"({"type":"object"})", false, true}};
}

Session Fresh() { return Session({"warpsmith", "1.0", "be brief"}, Tools()); }
Session Begun() {
  Session session = Fresh();
  session.Receive(R"({"jsonrpc":"2.0","id":0,"method":"initialize",)"
                  R"("params":{"protocolVersion":"2025-06-18"}})");
  return session;
}

// The one reply to a line.
json Reply(Session& session, const std::string& line) {
  const Session::Reaction reaction = session.Receive(line);
  EXPECT_EQ(reaction.replies.size(), 1U) << line;
  EXPECT_TRUE(reaction.calls.empty()) << line;
  return reaction.replies.empty() ? json() : json::parse(reaction.replies.front());
}
int CodeOf(Session& session, const std::string& line) {
  return Reply(session, line)["error"].value("code", 0);
}
std::string Request(const std::string& method, const std::string& params = "{}") {
  return R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":)" + params + "}";
}

TEST(SessionTest, AgreesOnTheVersionThatWasAskedForIfItIsSpoken) {
  for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    Session session = Fresh();
    const json reply = Reply(
        session, Request("initialize", std::string(R"({"protocolVersion":")") + version + "\"}"));
    EXPECT_EQ(reply["result"]["protocolVersion"], version);
    EXPECT_EQ(reply["result"]["serverInfo"]["name"], "warpsmith");
    EXPECT_EQ(reply["result"]["instructions"], "be brief");
    EXPECT_EQ(reply["id"], 7);
  }
  Session session = Fresh();
  EXPECT_EQ(
      Reply(session, Request("initialize",
                             R"({"protocolVersion":"1999-01-01"})"))["result"]["protocolVersion"],
      "2025-11-25");
  EXPECT_EQ(CodeOf(session, Request("initialize")), kInvalidParams);
}

TEST(SessionTest, ListsToolsWithTheirSchemas) {
  Session session = Begun();
  const json tools = Reply(session, Request("tools/list"))["result"]["tools"];
  ASSERT_EQ(tools.size(), 2U);
  EXPECT_EQ(tools[0]["name"], "look");
  EXPECT_EQ(tools[0]["inputSchema"]["additionalProperties"], false);
  EXPECT_FALSE(tools[0].contains("outputSchema"));
  EXPECT_TRUE(tools[1].contains("outputSchema"));
  EXPECT_EQ(tools[1]["annotations"]["readOnlyHint"], false);
  EXPECT_EQ(CodeOf(session, Request("tools/list", R"({"cursor":"x"})")), kInvalidParams);
}

TEST(SessionTest, TheNewerEraNeedsNoHandshakeButItsMeta) {
  Session session = Fresh();
  const json reply = Reply(session, Request("tools/list", std::string("{") + kMeta + "}"));
  EXPECT_EQ(reply["result"]["resultType"], "complete");
  EXPECT_TRUE(reply["result"].contains("ttlMs"));
  const json found = Reply(session, Request("server/discover", std::string("{") + kMeta + "}"));
  EXPECT_EQ(found["result"]["supportedVersions"][0], "2026-07-28");
  EXPECT_EQ(CodeOf(session, Request("tools/list")), kInvalidParams);
  EXPECT_EQ(
      CodeOf(session,
             Request("tools/list",
                     R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})")),
      kInvalidParams);
  const json refused = Reply(
      session, Request("tools/list",
                       R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}})"));
  EXPECT_EQ(refused["error"]["code"], kUnsupportedVersion);
  EXPECT_EQ(refused["error"]["data"]["requested"], "2031-01-01");
}

TEST(SessionTest, AnswersACallOnceAndRepeatsStructureAsText) {
  Session session = Begun();
  const auto reaction = session.Receive(Request(
      "tools/call", R"({"name":"judge","arguments":{"a":1},"_meta":{"progressToken":"t"}})"));
  ASSERT_EQ(reaction.calls.size(), 1U);
  const ToolCall& call = reaction.calls.front();
  EXPECT_EQ(call.tool, 1U);
  EXPECT_EQ((*call.arguments)["a"], 1);
  EXPECT_THAT(Session::Progress(call, 1, 3, "compiled"), HasSubstr(R"("progressToken":"t")"));
  ToolResult result;
  result.structured = std::make_shared<const json>(json{{"verdict", "passed\n"}});
  const std::string line = session.Answer(call, result);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const json reply = json::parse(line);
  EXPECT_EQ(reply["id"], 7);
  EXPECT_EQ(reply["result"]["structuredContent"]["verdict"], "passed\n");
  EXPECT_EQ(json::parse(reply["result"]["content"][0]["text"].get<std::string>()),
            *result.structured);
  EXPECT_EQ(session.Answer(call, result), "");
}

TEST(SessionTest, ACancelledCallIsNotAnsweredThoughItsIdIsUsedAgain) {
  Session session = Begun();
  const std::string request = Request("tools/call", R"({"name":"look"})");
  const ToolCall first = session.Receive(request).calls.at(0);
  EXPECT_EQ(CodeOf(session, request), kInvalidParams);  // its id is under way
  const auto reaction = session.Receive(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  EXPECT_THAT(reaction.cancelled, testing::ElementsAre(first.serial));
  EXPECT_TRUE(reaction.replies.empty());
  const ToolCall second = session.Receive(request).calls.at(0);
  EXPECT_EQ(session.Answer(first, {"late", nullptr, false}), "");
  EXPECT_NE(session.Answer(second, {"now", nullptr, false}), "");
}

TEST(SessionTest, TellsWhatIsWrongByJsonRpcsCodes) {
  Session session = Begun();
  EXPECT_EQ(CodeOf(session, "{"), kParseError);
  EXPECT_EQ(CodeOf(session, "\xff\xfe"), kParseError);
  EXPECT_EQ(CodeOf(session, std::string(100'000, '[')), kParseError);
  EXPECT_EQ(CodeOf(session, "3"), kInvalidRequest);
  EXPECT_EQ(CodeOf(session, "[]"), kInvalidRequest);
  EXPECT_EQ(CodeOf(session, R"({"id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(session, R"({"jsonrpc":"2.0","id":1})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(session, R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(session, R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})"),
            kInvalidRequest);
  EXPECT_EQ(CodeOf(session, Request("resources/list")), kMethodNotFound);
  EXPECT_EQ(CodeOf(session, Request("tools/call", R"({"name":"sing"})")), kInvalidParams);
  EXPECT_EQ(CodeOf(session, Request("tools/call", R"({"name":"look","arguments":[]})")),
            kInvalidParams);
  EXPECT_TRUE(session.Receive("  ").replies.empty());
  EXPECT_TRUE(session.Receive(R"({"jsonrpc":"2.0","id":1,"result":{}})").replies.empty());
  EXPECT_TRUE(session.Receive(R"({"jsonrpc":"2.0","method":"notifications/x"})").replies.empty());
}

TEST(SessionTest, RefusesToPileUpCalls) {
  Session session = Begun();
  for (size_t i = 0; i < kMostCalls; ++i) {
    const std::string id = std::to_string(i + 100);
    EXPECT_EQ(session
                  .Receive(R"({"jsonrpc":"2.0","id":)" + id +
                           R"(,"method":"tools/call","params":{"name":"look"}})")
                  .calls.size(),
              1U);
  }
  EXPECT_EQ(CodeOf(session, Request("tools/call", R"({"name":"look"})")), kInvalidParams);
}

TEST(SessionTest, TakesABatchApart) {
  Session session = Begun();
  const auto reaction =
      session.Receive("[" + Request("ping") + ",4," + Request("tools/list") + "]");
  EXPECT_EQ(reaction.replies.size(), 3U);
}

}  // namespace
}  // namespace warpsmith::mcp
