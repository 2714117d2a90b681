// What a client says to the MCP server, line by line: whatever it is, every answer is one line of
// JSON-RPC, calls are answered once, and a cancelled one never.
#include <nlohmann/json.hpp>
#include <set>

#include "base/utf8.h"
#include "fuzz.h"
#include "serve/mcp/session.h"

using namespace warpsmith;
using nlohmann::json;

namespace {

void MustBeAMessage(const std::string& line) {
  CHECK(line.find('\n') == line.npos && IsUtf8(line));
  const json message = json::parse(line);  // ours: it parses, or this ends the process
  CHECK(message["jsonrpc"] == "2.0");
  CHECK(message.contains("result") + message.contains("error") + message.contains("method") == 1);
  if (message.contains("error")) {
    CHECK(message["error"]["code"].is_number_integer());
    CHECK(!message["error"]["message"].get<std::string>().empty());
  }
}

mcp::Session Fresh() {
  return mcp::Session({"fuzz", "1", ""},
                      {{"look", "Look", "", R"({"type":"object"})", "", true, true},
                       {"do", "Do", "", R"({"type":"object"})", "", false, true}});
}

void MustAnswerOnce(mcp::Session& session, const mcp::ToolCall& call, bool cancelled) {
  CHECK(call.tool < session.tools().size() && call.arguments->is_object());
  const std::string progress = mcp::Session::Progress(call, 1, 2, "half");
  CHECK(progress.empty() == call.progress_token.empty());
  if (!progress.empty()) MustBeAMessage(progress);
  mcp::ToolResult result;
  result.structured = call.arguments;  // as hostile as can be
  const std::string answer = session.Answer(call, result);
  CHECK(answer.empty() == cancelled);
  if (!cancelled) MustBeAMessage(answer);
  CHECK(session.Answer(call, result).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mcp::Session session = Fresh();
  std::vector<mcp::ToolCall> calls;
  std::set<int64_t> cancelled;
  for (std::string_view rest = fuzz::TextOf(data, size); !rest.empty();) {
    const auto [line, after] = fuzz::CutLine(rest);
    const mcp::Session::Reaction reaction = session.Receive(line);
    for (const std::string& reply : reaction.replies) MustBeAMessage(reply);
    calls.insert(calls.end(), reaction.calls.begin(), reaction.calls.end());
    cancelled.insert(reaction.cancelled.begin(), reaction.cancelled.end());
    rest = after;
  }
  for (const mcp::ToolCall& call : calls) {
    MustAnswerOnce(session, call, cancelled.contains(call.serial));
  }
  return 0;
}
