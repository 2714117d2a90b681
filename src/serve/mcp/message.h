// JSON-RPC 2.0: one message read, and the lines of answers. Belongs to session.cc and its tests.
#ifndef WARPSMITH_SERVE_MCP_MESSAGE_H_
#define WARPSMITH_SERVE_MCP_MESSAGE_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/mcp/tool.h"

namespace warpsmith::mcp {

inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
                     kInvalidParams = -32602, kUnsupportedVersion = -32022;

// What is wrong with a message, as the other side is told.
struct RpcError {
  int code = kInvalidRequest;
  std::string message;
  JsonValue data;  // null: none
};

struct Message {
  std::string id;  // JSON text of a string or an integer; empty: a notification
  std::string method;
  JsonValue params;  // an object, or null: none were given
};

// One line's answer: `id` is JSON text, "null" where it could not be read.
std::string ResultLine(const std::string& id, const nlohmann::json& result);
std::string ErrorLine(const std::string& id, const RpcError& error);
std::string NotificationLine(std::string_view method, const nlohmann::json& params);

// A message in `json`, or what is wrong with it; `id` is what an answer goes to, either way.
// Neither: an answer to a request that we never made; it is passed over.
struct ReadMessage {
  std::string id = "null";
  std::unique_ptr<Message> message;
  std::unique_ptr<RpcError> error;
};
ReadMessage MessageFrom(const nlohmann::json& json);

}  // namespace warpsmith::mcp

#endif  // WARPSMITH_SERVE_MCP_MESSAGE_H_
