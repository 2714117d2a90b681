// The tools that a coding agent works with, over one task. What they are called and take is in
// texts/tools.json; how they are spoken to is src/serve/mcp's.
#ifndef WARPSMITH_SERVE_TOOLS_TOOLS_H_
#define WARPSMITH_SERVE_TOOLS_TOOLS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "base/json_reader.h"
#include "search/machine/machine.h"
#include "search/workbench.h"
#include "serve/mcp/server.h"
#include "serve/mcp/tool.h"
#include "store/database_store.h"

namespace warpsmith::serve {

// Texts that come with the program, by file name in texts/.
std::string_view McpText(std::string_view file);
std::vector<mcp::Tool> McpToolTable();

// Belongs to one thread. Every answer is for a model: an Error becomes words that it can act on.
class McpTools {
 public:
  // `machine` outlives it.
  McpTools(search::Workbench bench, search::LazyMachine& machine,
           std::unique_ptr<knowledge::KnowledgeBase> base, store::DatabaseStore& store,
           std::string ncu);

  Result<mcp::ToolResult> Call(const mcp::ToolCall& call, mcp::CallContext& context);

 private:
  using Answer = Result<mcp::ToolResult>;
  using Method = Answer (McpTools::*)(const JsonReader& arguments, mcp::CallContext& context);
  static const std::map<std::string_view, Method>& Methods();

  Answer ReadTask(const JsonReader& arguments, mcp::CallContext& context);
  Answer Evaluate(const JsonReader& arguments, mcp::CallContext& context);
  Answer ProfileCandidate(const JsonReader& arguments, mcp::CallContext& context);
  Answer BestSoFar(const JsonReader& arguments, mcp::CallContext& context);
  Answer ReadVerdict(const JsonReader& arguments, mcp::CallContext& context);
  Answer BudgetLeft(const JsonReader& arguments, mcp::CallContext& context);
  // In knowledge_tools.cc.
  Answer QueryKnowledge(const JsonReader& arguments, mcp::CallContext& context);
  Answer RecordOutcome(const JsonReader& arguments, mcp::CallContext& context);
  Answer AddNote(const JsonReader& arguments, mcp::CallContext& context);

  // What a candidate changes: nothing, the kernel that was given, or a step.
  struct Base {
    std::optional<Candidate> candidate;
    std::optional<search::FoundStep> step;
  };
  Result<Base> BaseIn(const JsonReader& arguments, std::string_view field);
  Answer Certify(const JsonReader& arguments, const std::function<bool()>& stop);
  Status Remember(const search::FoundStep& found, const Base& base, const std::string& state);
  Result<mcp::ToolResult> ToolResultOf(const search::FoundStep& found, const Base& base);
  Result<knowledge::Situation> SituationIn(const JsonReader& arguments);
  Result<std::string> ListStates();
  Result<search::FoundStep> BaseOf(const JsonReader& arguments, const search::FoundStep& after);
  Status Introduce(const JsonReader& arguments, const knowledge::Outcome& outcome);

  search::Workbench bench_;
  search::LazyMachine& machine_;
  std::unique_ptr<knowledge::KnowledgeBase> base_;
  store::DatabaseStore& store_;
  const std::string ncu_;
  const std::vector<mcp::Tool> table_;
  int64_t draws_ = 0;
};

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_TOOLS_TOOLS_H_
