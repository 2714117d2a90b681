// What a client can have done: tools, calls of them, and what comes of a call.
#ifndef WARPSMITH_SERVE_MCP_TOOL_H_
#define WARPSMITH_SERVE_MCP_TOOL_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace warpsmith::mcp {

struct Tool {
  std::string name;  // letters, digits, '_', '-' and '.'; at most 128
  std::string title, description;
  std::string input_schema;   // JSON Schema of an object, as text
  std::string output_schema;  // of the structured result; empty: the result is text alone
  bool read_only = true;      // it changes nothing that is kept
  bool idempotent = true;     // again with the same arguments changes nothing more
};

using JsonValue = std::shared_ptr<const nlohmann::json>;

struct ToolCall {
  std::string id;      // the request's, as JSON text
  int64_t serial = 0;  // tells it from a later call with the same id
  size_t tool = 0;
  JsonValue arguments;         // an object; nothing is known of what is in it
  std::string progress_token;  // as JSON text; empty: nobody wants to hear of progress
  bool modern = false;         // which era the request spoke
};

// An error of the tool's is a result too: the model reads it and does better.
struct ToolResult {
  std::string text;      // for the model; where there is a structure, left empty: it is repeated
  JsonValue structured;  // null: text alone
  bool is_error = false;
};

}  // namespace warpsmith::mcp

#endif  // WARPSMITH_SERVE_MCP_TOOL_H_
