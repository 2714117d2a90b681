#include "agent/runs/recorded_end.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace warpsmith::agent {
namespace {

using nlohmann::json;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

}  // namespace

std::string TextOf(const RecordedEnd& end) {
  json text{{"evaluations", end.evaluations}, {"limit", end.limit}};
  if (end.token_budget.has_value()) {
    text["wallet"] = {{"limit", end.token_budget->limit}, {"fitted", end.token_budget->fitted}};
  }
  return text.dump();
}

Result<RecordedEnd> RecordedEndFrom(const std::string& source, const std::string& text) {
  const std::string name = source + ": memo " + kEndKey;
  const json parsed = TRY(ParseJson(name, text));
  const JsonReader root(name, parsed);
  TRY(root.OnlyFields({"evaluations", "limit", "wallet"}));
  RecordedEnd end;
  end.evaluations = TRY(root.At("evaluations").IntIn(0, kMost));
  end.limit = TRY(root.At("limit").String());
  if (root.Has("wallet")) {
    const JsonReader token_budget = root.At("wallet");
    TRY(token_budget.OnlyFields({"limit", "fitted"}));
    end.token_budget = agent::TokenBudgetEnd{TRY(token_budget.At("limit").String()),
                                             TRY(token_budget.At("fitted").IntIn(0, kMost))};
  }
  return end;
}

}  // namespace warpsmith::agent
