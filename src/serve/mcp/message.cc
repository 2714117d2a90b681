#include "serve/mcp/message.h"

#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace warpsmith::mcp {
namespace {

using nlohmann::json;

// One line, whatever bytes a candidate's text brought in.
std::string Line(const json& message) { return JsonText(message); }

bool IsId(const json& id) { return id.is_string() || id.is_number_integer(); }

ReadMessage Refused(std::string id, std::string message) {
  ReadMessage read;
  read.id = std::move(id);
  read.error = std::make_unique<RpcError>(RpcError{kInvalidRequest, std::move(message), nullptr});
  return read;
}

}  // namespace

std::string ResultLine(const std::string& id, const json& result) {
  return Line({{"jsonrpc", "2.0"}, {"id", json::parse(id)}, {"result", result}});
}

std::string ErrorLine(const std::string& id, const RpcError& error) {
  json body = {{"code", error.code}, {"message", error.message}};
  if (error.data != nullptr) body["data"] = *error.data;
  return Line({{"jsonrpc", "2.0"}, {"id", json::parse(id)}, {"error", body}});
}

std::string NotificationLine(std::string_view method, const json& params) {
  return Line({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

ReadMessage MessageFrom(const json& value) {
  if (!value.is_object()) return Refused("null", "a message is a JSON object");
  const auto field = [&](const char* name) { return value.contains(name) ? value[name] : json(); };
  const json id = field("id");
  const std::string id_text = IsId(id) ? Line(id) : "null";
  if (field("jsonrpc") != "2.0") return Refused(id_text, "\"jsonrpc\" has to be \"2.0\"");
  const bool is_answer = value.contains("result") || value.contains("error");
  if (is_answer && !value.contains("method")) return {};
  if (!field("method").is_string()) return Refused(id_text, "\"method\" has to be a string");
  if (value.contains("id") && !IsId(id)) {
    return Refused("null", "\"id\" has to be a string or an integer");
  }
  const json params = field("params");
  if (value.contains("params") && !params.is_object()) {
    return Refused(id_text, "\"params\" has to be an object");
  }
  ReadMessage read;
  read.id = id_text;
  read.message = std::make_unique<Message>();
  if (value.contains("id")) read.message->id = id_text;
  read.message->method = value["method"].get<std::string>();
  if (value.contains("params")) read.message->params = std::make_shared<const json>(params);
  return read;
}

}  // namespace warpsmith::mcp
