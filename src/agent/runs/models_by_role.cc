#include "agent/runs/models_by_role.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/models/client.h"
#include "agent/models/endpoint.h"
#include "agent/models/recorded.h"
#include "agent/settings.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace warpsmith::agent {
namespace {

namespace role = agent::role;

// How a model is named.
std::string Forms() {
  return "write openai:MODEL@URL, endpoint:FILE, exchange:DIR or recorded:FILE, before it ROLE= "
         "for one role: " +
         Joined(role::kAll);
}

struct Spec {
  std::string role, kind, value;  // "lowering" or "", "openai", "MODEL@URL"
};

Error BadSpec(const std::string& text) {
  return {ErrorCode::kUsage, "--model " + text + " is no model", Forms()};
}

Result<Spec> SpecFrom(const std::string& text) {
  Spec spec;
  std::string rest = text;
  const size_t equals = rest.find('='), colon = rest.find(':');
  if (equals < colon) {
    spec.role = rest.substr(0, equals);
    rest.erase(0, equals + 1);
    if (std::ranges::find(role::kAll, spec.role) == role::kAll.end()) return BadSpec(text);
  }
  const size_t end = rest.find(':');
  if (end == rest.npos || end + 1 == rest.size()) return BadSpec(text);
  spec.kind = rest.substr(0, end);
  spec.value = rest.substr(end + 1);
  return spec;
}

Result<models::Endpoint> OpenAiEndpoint(const Spec& spec, const AgentOptions& options) {
  const size_t at = spec.value.find('@');
  if (at == spec.value.npos || at == 0) return BadSpec("openai:" + spec.value);
  models::Endpoint endpoint;
  endpoint.model = spec.value.substr(0, at);
  endpoint.base_url = spec.value.substr(at + 1);
  endpoint.key_variable = options.key_variable;
  endpoint.plain_http = options.plain_http;
  const std::string usual = models::UsualKeyVariable(endpoint.base_url);
  if (endpoint.key_variable.empty() && !usual.empty() && std::getenv(usual.c_str()) != nullptr) {
    endpoint.key_variable = usual;
  }
  return endpoint;
}

Result<models::Endpoint> EndpointIn(const std::string& file) {
  const nlohmann::json json = TRY(ParseJson(file, TRY(ReadFile(file))));
  return models::EndpointFrom(JsonReader(file, json));
}

struct Opened {
  std::unique_ptr<ChatModel> model;
  std::string priced_as;  // empty: it costs nothing
};

Result<Opened> Open(const Spec& spec, const AgentOptions& options) {
  if (spec.kind == "exchange") return Opened{TRY(models::OpenExchange(spec.value)), ""};
  if (spec.kind == "recorded") return Opened{TRY(models::OpenRecording(spec.value)), ""};
  if (spec.kind != "openai" && spec.kind != "endpoint") {
    return BadSpec(spec.kind + ":" + spec.value);
  }
  models::Endpoint endpoint =
      spec.kind == "openai" ? TRY(OpenAiEndpoint(spec, options)) : TRY(EndpointIn(spec.value));
  endpoint.plain_http = endpoint.plain_http || options.plain_http;
  const std::string name = endpoint.model;
  return Opened{TRY(models::ConnectTo(std::move(endpoint))), name};
}

Result<models::Prices> PricesIn(const std::string& file) {
  if (file.empty()) return models::Prices();
  const nlohmann::json json = TRY(ParseJson(file, TRY(ReadFile(file))));
  return models::PricesFrom(JsonReader(file, json));
}

Status CheckBudget(const AgentOptions& options, const Budget& budget,
                   const std::map<std::string, std::string>& priced_as,
                   const models::Prices& prices) {
  const bool limits_money = std::isfinite(budget.money);
  const bool limits = limits_money || budget.tokens != std::numeric_limits<int64_t>::max();
  if (limits && !options.max_tokens.has_value()) {
    return Error{ErrorCode::kConfig,
                 "a budget of tokens or money holds only where replies have a limit",
                 "say how long one may be: --max-tokens 16384"};
  }
  for (const auto& [role, name] : priced_as) {
    if (!limits_money || name.empty() || prices.contains(name)) continue;
    return Error{ErrorCode::kConfig, "there is no price for the model '" + name + "'",
                 "name a file with it: --prices FILE (docs/agent.md)"};
  }
  return {};
}

bool IsWholeRun(const Spec& spec) {
  return spec.kind == "recorded" && spec.value.ends_with(".wsrec");
}

}  // namespace

std::string RecordingIn(const AgentOptions& options) {
  for (const std::string& text : options.models) {
    const Result<Spec> spec = SpecFrom(text);
    if (spec.ok() && IsWholeRun(*spec)) return spec->value;
  }
  return "";
}

std::string ServerIn(const AgentOptions& options) {
  for (const std::string& text : options.models) {
    const Result<Spec> spec = SpecFrom(text);
    if (spec.ok() && (spec->kind == "openai" || spec->kind == "endpoint")) return text;
  }
  return "";
}

Result<AgentModels> OpenModels(const AgentOptions& options, const Budget& budget) {
  AgentModels models;
  models.recording = RecordingIn(options);
  if (!models.recording.empty()) return models;
  if (options.models.empty()) {
    return Error{ErrorCode::kUsage, "--proposer agent needs a model", Forms()};
  }
  const models::Prices prices = TRY(PricesIn(options.prices));
  std::map<std::string, std::string> priced_as;  // by role
  for (const std::string& text : options.models) {
    const Spec spec = TRY(SpecFrom(text));
    Opened opened = TRY(Open(spec, options));
    models.waits_for_answers = models.waits_for_answers || spec.kind == "exchange";
    models.by_role[spec.role] = opened.model.get();
    priced_as[spec.role] = opened.priced_as;
    models.owned.push_back(std::move(opened.model));
  }
  if (!models.by_role.contains("") && models.by_role.size() < role::kAll.size()) {
    return Error{ErrorCode::kUsage, "some roles have no model", "give one without a role, too"};
  }
  TRY(CheckBudget(options, budget, priced_as, prices));
  models.price = [prices, priced_as](const std::string& role,
                                     const ChatUsage& usage) -> std::optional<double> {
    const auto own = priced_as.find(role);
    const auto name = own != priced_as.end() ? own : priced_as.find("");
    if (name == priced_as.end()) return std::nullopt;
    return models::CostOf(prices, name->second, usage);
  };
  return models;
}

}  // namespace warpsmith::agent
