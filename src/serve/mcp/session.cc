#include "serve/mcp/session.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "serve/mcp/message.h"

namespace warpsmith::mcp {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> kHandshakeVersions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                           "2024-11-05"};
constexpr const char* kModernVersion = "2026-07-28";
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr int64_t kLastingMs = 3'600'000;  // our tools do not change while we run

json Capabilities() { return {{"tools", {{"listChanged", false}}}}; }

json Field(const JsonValue& params, const char* name) {
  return params != nullptr && params->contains(name) ? (*params)[name] : json();
}

std::string Invalid(const std::string& id, std::string message) {
  return ErrorLine(id, {kInvalidParams, std::move(message), nullptr});
}

json SupportedVersions() {
  json versions = {kModernVersion};
  for (const char* version : kHandshakeVersions) versions.push_back(version);
  return versions;
}

// What is wrong with a modern request's _meta; empty line: nothing.
std::string CheckMeta(const Message& message, const json& meta) {
  if (meta[kVersionKey] != kModernVersion) {
    const auto data = std::make_shared<const json>(
        json{{"supported", SupportedVersions()}, {"requested", meta[kVersionKey]}});
    return ErrorLine(message.id,
                     {kUnsupportedVersion, "this protocol version is not spoken here", data});
  }
  if (!meta.contains(kCapabilitiesKey) || !meta[kCapabilitiesKey].is_object()) {
    return Invalid(message.id,
                   std::string("params._meta[\"") + kCapabilitiesKey + "\"] has to be an object");
  }
  return "";
}

// As JSON text; empty: nobody wants to hear of progress.
std::string ProgressTokenIn(const JsonValue& params) {
  const json meta = Field(params, "_meta");
  if (!meta.is_object() || !meta.contains("progressToken")) return "";
  const json& token = meta["progressToken"];
  return token.is_string() || token.is_number_integer() ? JsonText(token) : "";
}

json ToolJson(const Tool& tool) {
  json value = {{"name", tool.name},
                {"title", tool.title},
                {"description", tool.description},
                {"inputSchema", json::parse(tool.input_schema)},
                {"annotations",
                 {{"title", tool.title},
                  {"readOnlyHint", tool.read_only},
                  {"destructiveHint", false},
                  {"idempotentHint", tool.idempotent},
                  {"openWorldHint", false}}}};
  if (!tool.output_schema.empty()) value["outputSchema"] = json::parse(tool.output_schema);
  return value;
}

}  // namespace

Session::Session(ServerFacts facts, std::vector<Tool> tools)
    : facts_(std::move(facts)), tools_(std::move(tools)) {}

std::string Session::TooLong(size_t most_bytes) {
  return ErrorLine(
      "null",
      {kInvalidRequest, "a message has at most " + std::to_string(most_bytes) + " bytes", nullptr});
}

Session::Reaction Session::Receive(std::string_view line) {
  Reaction reaction;
  if (line.find_first_not_of(" \t\r") == line.npos) return reaction;
  const auto parsed = IsUtf8(line) ? ParseJson("message", line)
                                   : Error{ErrorCode::kBadInput, "a message is UTF-8", ""};
  if (!parsed.ok()) {
    reaction.replies.push_back(ErrorLine("null", {kParseError, parsed.error().message, nullptr}));
    return reaction;
  }
  if (!parsed->is_array()) {
    Take(*parsed, &reaction);
    return reaction;
  }
  // Batches were part of one version; their messages are answered one by one.
  if (parsed->empty() || parsed->size() > kMostCalls) {
    reaction.replies.push_back(ErrorLine(
        "null", {kInvalidRequest, "a batch has 1 to " + std::to_string(kMostCalls) + " messages",
                 nullptr}));
    return reaction;
  }
  for (const json& one : *parsed) Take(one, &reaction);
  return reaction;
}

void Session::Take(const json& value, Reaction* reaction) {
  const ReadMessage read = MessageFrom(value);
  if (read.error != nullptr) reaction->replies.push_back(ErrorLine(read.id, *read.error));
  if (read.message == nullptr) return;
  if (read.message->id.empty()) {
    TakeNotification(*read.message, reaction);
  } else {
    Take(*read.message, reaction);
  }
}

void Session::TakeNotification(const Message& message, Reaction* reaction) {
  if (message.method != "notifications/cancelled") return;  // others ask for nothing
  const json id = Field(message.params, "requestId");
  if (!id.is_string() && !id.is_number_integer()) return;
  const auto ended = under_way_.extract(JsonText(id));
  if (!ended.empty()) reaction->cancelled.push_back(ended.mapped());
}

void Session::Take(const Message& message, Reaction* reaction) {
  std::vector<std::string>& replies = reaction->replies;
  if (message.method == "initialize") return replies.push_back(Initialize(message));
  const json meta = Field(message.params, "_meta");
  const bool modern = meta.is_object() && meta.contains(kVersionKey);
  if (modern) {
    const std::string wrong = CheckMeta(message, meta);
    if (!wrong.empty()) return replies.push_back(wrong);
  }
  if (message.method == "ping") {
    return replies.push_back(
        ResultLine(message.id, modern ? json{{"resultType", "complete"}} : json::object()));
  }
  if (!modern && !initialized_) {
    return replies.push_back(Invalid(message.id, std::string("begin with initialize, or give "
                                                             "params._meta[\"") +
                                                     kVersionKey + "\"]"));
  }
  if (modern && message.method == "server/discover") return replies.push_back(Discover(message));
  if (message.method == "tools/list") return replies.push_back(ListTools(message, modern));
  if (message.method == "tools/call") return CallTool(message, modern, reaction);
  replies.push_back(ErrorLine(
      message.id,
      {kMethodNotFound, "there is no method \"" + message.method.substr(0, 100) + "\"", nullptr}));
}

std::string Session::Initialize(const Message& message) {
  const json asked = Field(message.params, "protocolVersion");
  if (!asked.is_string()) return Invalid(message.id, "protocolVersion has to be a string");
  const bool known = std::any_of(kHandshakeVersions.begin(), kHandshakeVersions.end(),
                                 [&](const char* version) { return asked == version; });
  initialized_ = true;
  return ResultLine(message.id,
                    {{"protocolVersion", known ? asked : json(kHandshakeVersions.front())},
                     {"capabilities", Capabilities()},
                     {"serverInfo", {{"name", facts_.name}, {"version", facts_.version}}},
                     {"instructions", facts_.instructions}});
}

std::string Session::Discover(const Message& message) const {
  return ResultLine(message.id, {{"resultType", "complete"},
                                 {"supportedVersions", SupportedVersions()},
                                 {"capabilities", Capabilities()},
                                 {"instructions", facts_.instructions},
                                 {"ttlMs", kLastingMs},
                                 {"cacheScope", "public"},
                                 {"_meta",
                                  {{"io.modelcontextprotocol/serverInfo",
                                    {{"name", facts_.name}, {"version", facts_.version}}}}}});
}

std::string Session::ListTools(const Message& message, bool modern) const {
  if (!Field(message.params, "cursor").is_null()) {
    return Invalid(message.id, "there is one page of tools: no cursor is valid");
  }
  json tools = json::array();
  for (const Tool& tool : tools_) tools.push_back(ToolJson(tool));
  json result = {{"tools", std::move(tools)}};
  if (modern) {
    result["resultType"] = "complete";
    result["ttlMs"] = kLastingMs;
    result["cacheScope"] = "public";
  }
  return ResultLine(message.id, result);
}

void Session::CallTool(const Message& message, bool modern, Reaction* reaction) {
  const json name = Field(message.params, "name");
  const json arguments = Field(message.params, "arguments");
  const auto found = std::find_if(tools_.begin(), tools_.end(),
                                  [&](const Tool& tool) { return name == tool.name; });
  std::string wrong;
  if (found == tools_.end()) {
    wrong = name.is_string() ? "there is no tool \"" + name.get<std::string>().substr(0, 100) + "\""
                             : "name has to be a string";
  } else if (!arguments.is_null() && !arguments.is_object()) {
    wrong = "arguments has to be an object";
  } else if (under_way_.contains(message.id)) {
    wrong = "a request with this id is under way";
  } else if (under_way_.size() >= kMostCalls) {
    wrong = "too many calls are under way; wait for their answers";
  }
  if (!wrong.empty()) return reaction->replies.push_back(Invalid(message.id, wrong));
  ToolCall call;
  call.id = message.id;
  call.tool = static_cast<size_t>(found - tools_.begin());
  call.arguments = std::make_shared<const json>(arguments.is_null() ? json::object() : arguments);
  call.progress_token = ProgressTokenIn(message.params);
  call.modern = modern;
  call.serial = ++calls_;
  under_way_[call.id] = call.serial;
  reaction->calls.push_back(std::move(call));
}

std::string Session::Answer(const ToolCall& call, const ToolResult& result) {
  const auto found = under_way_.find(call.id);
  if (found == under_way_.end() || found->second != call.serial) return "";
  under_way_.erase(found);
  const std::string text =
      result.structured == nullptr ? result.text : JsonText(*result.structured);
  json body = {{"content", json::array({{{"type", "text"}, {"text", text}}})},
               {"isError", result.is_error}};
  if (result.structured != nullptr) body["structuredContent"] = *result.structured;
  if (call.modern) body["resultType"] = "complete";
  return ResultLine(call.id, body);
}

std::string Session::Progress(const ToolCall& call, double done, double total,
                              const std::string& message) {
  if (call.progress_token.empty()) return "";
  json params = {{"progressToken", json::parse(call.progress_token)},
                 {"progress", done},
                 {"message", message}};
  if (total > 0) params["total"] = total;
  return NotificationLine("notifications/progress", params);
}

}  // namespace warpsmith::mcp
