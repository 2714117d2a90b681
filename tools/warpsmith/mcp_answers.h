// What the MCP tools answer with: verdicts, steps and budgets as JSON.
#ifndef WARPSMITH_TOOLS_MCP_ANSWERS_H_
#define WARPSMITH_TOOLS_MCP_ANSWERS_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "search/workbench.h"
#include "serve/mcp/tool.h"

namespace warpsmith::cli {

mcp::ToolResult Structured(nlohmann::json value, bool is_error = false);

// With words, what failed (the compiler's log cut to its last lines), and what to do about it.
// `base`: what the candidate changed, for the gain over it.
nlohmann::json VerdictAnswer(const search::FoundStep& found,
                             const std::optional<search::FoundStep>& base);

// The same with sources and plan.
nlohmann::json CandidateAnswer(const search::FoundStep& found);

nlohmann::json BudgetAnswer(const search::Workbench& bench);

// ln(time before / time after), from the ratios to the bar where both have one.
std::optional<double> LogGain(const search::FoundStep& before, const search::FoundStep& after);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_MCP_ANSWERS_H_
