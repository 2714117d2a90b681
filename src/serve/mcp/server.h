// A session on two descriptors: one thread reads, so that a ping or a cancellation is heard while a
// tool is at work; the calling thread works, one call at a time, in the order in which they came.
#ifndef WARPSMITH_SERVE_MCP_SERVER_H_
#define WARPSMITH_SERVE_MCP_SERVER_H_

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "serve/mcp/session.h"

namespace warpsmith::mcp {

// Sixteen source files at their limit, and then some.
inline constexpr size_t kMostMessageBytes = size_t{16} << 20;

// What a tool sees of the call that it carries out.
class CallContext {
 public:
  virtual ~CallContext() = default;
  // Nobody waits for the answer any more, or the process is to end.
  virtual bool Cancelled() const = 0;
  // Heard by the client where it asked for it; `total` 0: unknown.
  virtual void Report(double done, double total, const std::string& message) = 0;
};

// An Error becomes a result that the model reads: "message (fix)".
using CallTool = std::function<Result<ToolResult>(const ToolCall& call, CallContext& context)>;

struct ServeRequest {
  int input = 0, output = 1;
  size_t most_message_bytes = kMostMessageBytes;
  CallTool call;               // called by the thread that serves
  std::function<void()> idle;  // the same, after a while without a call
  std::chrono::milliseconds idle_after{60'000};
};

// Until the input ends (what was asked before is still answered), the output is closed by the other
// side, or Interrupted().
Status Serve(Session& session, const ServeRequest& request);

}  // namespace warpsmith::mcp

#endif  // WARPSMITH_SERVE_MCP_SERVER_H_
