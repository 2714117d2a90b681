#include "agent/prompts/reply_plan.h"

#include <nlohmann/json.hpp>

#include "agent/prompts/reply_text.h"
#include "base/json_reader.h"
#include "core/serialize.h"
#include "task/toml_json.h"

namespace warpsmith::prompts {
namespace {

using nlohmann::json;

Result<json> Parse(std::string_view text) {
  if (Trimmed(text).starts_with('{')) return ParseJson("the reply's plan", text);
  return task::ParseTomlAsJson("the reply's plan", text);
}

Result<LaunchPlan> ReadPlan(json plan) {
  if (plan.is_object() && !plan.contains("version")) plan["version"] = kLaunchPlanVersion;
  return LaunchPlanFrom(JsonReader("the reply's plan", plan));
}

Error Plain(const Error& error) { return BadReply(error.message); }

}  // namespace

bool LooksLikePlan(std::string_view text) {
  const bool json_like = Trimmed(text).starts_with('{');
  for (const std::string_view word : {"operations", "\"plan\"", "\"sources\"", "[plan]"}) {
    if (text.find(word) == text.npos) continue;
    if (json_like || text.find("[[") != text.npos || text.find(" = ") != text.npos) return true;
  }
  return false;
}

Result<PlanDocument> ReadPlanDocument(std::string_view text) {
  auto parsed = Parse(text);
  if (!parsed.ok()) return Plain(parsed.error());
  if (!parsed->is_object()) return BadReply("the reply's plan is no object");
  PlanDocument document;
  if (parsed->contains("tunables")) {
    return BadReply("the reply's plan has tunables: give the values themselves");
  }
  const bool bare = parsed->contains("operations");
  if (bare || parsed->contains("plan")) {
    auto plan = ReadPlan(bare ? *parsed : (*parsed)["plan"]);
    if (!plan.ok()) return Plain(plan.error());
    document.plan = std::move(*plan);
  }
  for (const auto& [field, value] : parsed->items()) {
    if (bare || field == "plan" || field == "version") continue;
    if (field == "sources" && value.is_object()) {
      for (const auto& [name, source] : value.items()) {
        if (!source.is_string()) return BadReply("the reply's sources are not all texts");
        document.sources[name] = source.get<std::string>();
      }
      continue;
    }
    document.ignored.push_back(field);
  }
  if (!document.plan && document.sources.empty()) {
    return BadReply("the reply's plan has no operations");
  }
  return document;
}

}  // namespace warpsmith::prompts
