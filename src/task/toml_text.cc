#include "task/toml_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::task {
namespace {

using nlohmann::json;

bool IsBareKey(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
}

// TOML's basic strings have JSON's escapes; DEL must be escaped as well.
std::string Text(const std::string& text) {
  std::string quoted = JsonText(json(text));
  for (size_t at = 0; (at = quoted.find('\x7f', at)) != std::string::npos;) {
    quoted.replace(at, 1, "\\u007f");
  }
  return quoted;
}

std::string Key(const std::string& key) { return IsBareKey(key) ? key : Text(key); }

std::string Inline(const json& value) {
  CHECK(!value.is_null());
  if (value.is_string()) return Text(value.get<std::string>());
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, item] : value.items()) {
    text += (text.empty() ? "" : ", ") + (value.is_object() ? Key(key) + " = " : "") + Inline(item);
  }
  if (value.is_array()) return "[" + text + "]";
  return text.empty() ? "{}" : "{ " + text + " }";
}

std::string Value(const json& value) {
  const bool one_a_line = value.is_array() && !value.empty() && value.front().is_object();
  if (!one_a_line) return Inline(value);
  std::string text = "[\n";
  for (const json& item : value) text += "  " + Inline(item) + ",\n";
  return text + "]";
}

std::string Line(const std::string& key, const json& value) {
  return Key(key) + " = " + Value(value) + "\n";
}

}  // namespace

std::string TomlText(const json& document, const std::vector<std::string>& first) {
  std::string lines, tables;
  for (const std::string& key : first) {
    if (document.contains(key)) lines += Line(key, document[key]);
  }
  for (const auto& [key, value] : document.items()) {
    if (std::find(first.begin(), first.end(), key) != first.end()) continue;
    if (!value.is_object()) {
      lines += Line(key, value);
      continue;
    }
    tables += "\n[" + Key(key) + "]\n";
    for (const auto& [inner, item] : value.items()) tables += Line(inner, item);
  }
  return lines + tables;
}

}  // namespace warpsmith::task
