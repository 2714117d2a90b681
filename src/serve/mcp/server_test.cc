#include "serve/mcp/server.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "serve/mcp/line_reader.h"

namespace warpsmith::mcp {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kServerPatience{5000};

// A server with one tool on two pipes, and the client's ends of them.
class ServerTest : public testing::Test {
 protected:
  ServerTest()
      : session_({"test", "1", ""},
                 {{"work", "Work", "works", R"({"type":"object"})", "", true, true}}) {}
  void Begin(CallTool call) {
    ASSERT_EQ(pipe(to_), 0);
    ASSERT_EQ(pipe(from_), 0);
    request_.input = to_[0];
    request_.output = from_[1];
    request_.most_message_bytes = 1000;
    request_.call = std::move(call);
    request_.idle = [this] { ++idle_; };
    request_.idle_after = std::chrono::milliseconds(1);
    server_ = std::thread([this] {
      status_ = Serve(session_, request_);
      close(from_[1]);
    });
    reader_ = std::make_unique<LineReader>(from_[0], 1'000'000);
    Say(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})");
    EXPECT_EQ(Hear()["id"], 0);
  }
  void Say(std::string line) {
    line += '\n';
    ASSERT_EQ(write(to_[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void Call(int id, const char* meta = "{}") {
    Say(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
        R"(,"method":"tools/call","params":{"name":"work","_meta":)" + meta + "}}");
  }
  json Hear() {
    while (!reader_->ended()) {
      const auto line = reader_->Next(kServerPatience).value();
      if (line) return json::parse(line->text);
    }
    return {};
  }
  void End() {
    EndInput();
    Finish();
  }
  void EndInput() { close(to_[1]); }
  void Finish() {
    server_.join();
    EXPECT_TRUE(status_.ok());
    close(to_[0]);
    close(from_[0]);
  }

  std::atomic<int> idle_{0};

 private:
  Session session_;
  ServeRequest request_;
  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  Status status_;
  std::thread server_;
  std::unique_ptr<LineReader> reader_;
};

TEST_F(ServerTest, AnswersAPingWhileAToolIsAtWork) {
  std::atomic<bool> go{false};
  Begin([&](const ToolCall&, CallContext&) -> Result<ToolResult> {
    while (!go) std::this_thread::yield();
    return ToolResult{"done", nullptr, false};
  });
  Call(1);
  Say(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  EXPECT_EQ(Hear()["id"], 2);
  go = true;
  const json reply = Hear();
  EXPECT_EQ(reply["id"], 1);
  EXPECT_EQ(reply["result"]["content"][0]["text"], "done");
  End();
}

TEST_F(ServerTest, StopsAToolThatIsCancelledAndGoesOnWithTheNext) {
  std::atomic<int> begun{0};
  Begin([&](const ToolCall& call, CallContext& context) -> Result<ToolResult> {
    ++begun;
    while (call.id == "1" && !context.Cancelled()) std::this_thread::yield();
    return ToolResult{call.id, nullptr, false};
  });
  Call(1);
  while (begun == 0) std::this_thread::yield();
  Call(2);
  Call(3);
  Say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
  Say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  EXPECT_EQ(Hear()["id"], 3);
  EXPECT_EQ(begun, 2);  // the second was never begun
  End();
}

TEST_F(ServerTest, ReportsProgressOnlyWhereItWasAskedFor) {
  Begin([&](const ToolCall&, CallContext& context) -> Result<ToolResult> {
    context.Report(1, 2, "half");
    return ToolResult{"done", nullptr, false};
  });
  Call(1);
  EXPECT_EQ(Hear()["id"], 1);
  Call(2, R"({"progressToken":5})");
  const json progress = Hear();
  EXPECT_EQ(progress["method"], "notifications/progress");
  EXPECT_EQ(progress["params"]["progressToken"], 5);
  EXPECT_EQ(Hear()["id"], 2);
  End();
}

TEST_F(ServerTest, ToolsErrorsAreResultsAndLongLinesAreRefused) {
  Begin([&](const ToolCall&, CallContext&) -> Result<ToolResult> {
    return Error{ErrorCode::kBadInput, "no such thing", "name another"};
  });
  Call(1);
  const json reply = Hear();
  EXPECT_EQ(reply["result"]["isError"], true);
  EXPECT_EQ(reply["result"]["content"][0]["text"], "no such thing (name another)");
  Say(std::string(2000, 'x'));
  EXPECT_EQ(Hear()["error"]["code"], -32600);
  Call(2);
  EXPECT_EQ(Hear()["id"], 2);
  End();
}

TEST_F(ServerTest, AnswersWhatWasAskedBeforeTheInputEnded) {
  Begin([&](const ToolCall& call, CallContext&) -> Result<ToolResult> {
    return ToolResult{call.id, nullptr, false};
  });
  for (int id = 1; id <= 20; ++id) Call(id);
  EndInput();
  for (int id = 1; id <= 20; ++id) EXPECT_EQ(Hear()["id"], id);
  Finish();
}

TEST_F(ServerTest, SaysWhenNothingWasAskedForAWhile) {
  Begin([&](const ToolCall&, CallContext&) -> Result<ToolResult> {
    return ToolResult{"done", nullptr, false};
  });
  EXPECT_EQ(idle_, 0);
  Call(1);
  Hear();
  while (idle_ == 0) std::this_thread::yield();
  End();
  EXPECT_EQ(idle_, 1);
}

}  // namespace
}  // namespace warpsmith::mcp
