#include "task/toml_json.h"

#include <toml++/toml.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "util/file.h"

namespace warpsmith::task {
namespace {

Error Bad(const std::filesystem::path& path, const toml::source_region& where,
          std::string_view what) {
  std::ostringstream line;
  line << path.string() << ":" << where.begin.line << ":" << where.begin.column << ": " << what;
  return {ErrorCode::kBadInput, line.str(), "see docs/task-and-plan-format.md"};
}

Result<nlohmann::json> Convert(const std::filesystem::path& path, const toml::node& node,
                               int depth) {
  if (depth > 64) return Bad(path, node.source(), "nested deeper than 64 levels");
  if (const auto* table = node.as_table()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, value] : *table) {
      object[std::string(key.str())] = TRY(Convert(path, value, depth + 1));
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    nlohmann::json items = nlohmann::json::array();
    for (const toml::node& value : *array) items.push_back(TRY(Convert(path, value, depth + 1)));
    return items;
  }
  if (const auto* text = node.as_string()) return nlohmann::json(text->get());
  if (const auto* integer = node.as_integer()) return nlohmann::json(integer->get());
  if (const auto* number = node.as_floating_point()) return nlohmann::json(number->get());
  if (const auto* boolean = node.as_boolean()) return nlohmann::json(boolean->get());
  return Bad(path, node.source(), "dates and times have no meaning here");
}

}  // namespace

Result<nlohmann::json> ReadTomlAsJson(const std::filesystem::path& path) {
  const std::string text = TRY(ReadFile(path));
  const toml::parse_result parsed = toml::parse(text, path.string());
  if (!parsed) return Bad(path, parsed.error().source(), std::string(parsed.error().description()));
  return Convert(path, parsed.table(), 0);
}

}  // namespace warpsmith::task
