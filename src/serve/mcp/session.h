// One client's conversation in the Model Context Protocol, as a value that is fed lines and gives
// lines: no input, output, threads or tools in it. docs/agent.md.
//
// Both eras are spoken. A request named `initialize` begins the older one (2024-11-05 to
// 2025-11-25); a request whose params._meta names a protocol version speaks the newer one
// (2026-07-28), which knows no handshake.
#ifndef WARPSMITH_SERVE_MCP_SESSION_H_
#define WARPSMITH_SERVE_MCP_SESSION_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/mcp/tool.h"

namespace warpsmith::mcp {

struct Message;

struct ServerFacts {
  std::string name, version;
  std::string instructions;  // what a model should know before it uses the tools
};

// Calls that were taken and not answered; more are refused, so that a client cannot pile them up.
inline constexpr size_t kMostCalls = 64;

class Session {
 public:
  Session(ServerFacts facts, std::vector<Tool> tools);

  struct Reaction {
    std::vector<std::string> replies;  // lines to send, in this order
    std::vector<ToolCall> calls;       // to be carried out; each ends in Answer()
    std::vector<int64_t> cancelled;    // serials of calls that nobody waits for any more
  };
  // One line, without its end. Whatever it is, each request in it is answered exactly once, here
  // or by Answer().
  Reaction Receive(std::string_view line);
  // The same for a line that was longer than we read.
  static std::string TooLong(size_t most_bytes);

  // The line that ends a call; empty where it was cancelled.
  std::string Answer(const ToolCall& call, const ToolResult& result);
  // `done` rises from one report to the next; `total` 0: unknown.
  static std::string Progress(const ToolCall& call, double done, double total,
                              const std::string& message);

  const std::vector<Tool>& tools() const { return tools_; }

 private:
  void Take(const nlohmann::json& value, Reaction* reaction);
  void Take(const Message& message, Reaction* reaction);
  void TakeNotification(const Message& message, Reaction* reaction);
  std::string Initialize(const Message& message);
  std::string Discover(const Message& message) const;
  std::string ListTools(const Message& message, bool modern) const;
  void CallTool(const Message& message, bool modern, Reaction* reaction);

  ServerFacts facts_;
  std::vector<Tool> tools_;
  bool initialized_ = false;
  std::map<std::string, int64_t> under_way_;  // calls: id -> serial
  int64_t calls_ = 0;
};

}  // namespace warpsmith::mcp

#endif  // WARPSMITH_SERVE_MCP_SESSION_H_
