#include "base/json_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace warpsmith {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxShown = 60;  // bytes of a value or name quoted in an error

std::string Place(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line = 1 + static_cast<size_t>(std::ranges::count(before, '\n'));
  const size_t newline = before.rfind('\n');
  const size_t column = before.size() - (newline == before.npos ? 0 : newline + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Error Malformed(std::string_view source, std::string_view text, size_t offset,
                const std::string& what) {
  return Error{ErrorCode::kBadInput, std::string(source) + ": " + Place(text, offset) + ": " + what,
               ""};
}

// Offset of the first bracket that opens level kMaxDepth + 1, or npos.
size_t FindTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

// Cut between characters: an error may have to be written as JSON, which takes no half ones.
std::string Shortened(std::string text) {
  if (text.size() <= kMaxShown) return text;
  size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string Shown(const nlohmann::json* value) {
  if (value == nullptr) return "nothing";
  if (value->is_array()) return "an array of " + std::to_string(value->size());
  if (value->is_object()) return "an object";
  return Shortened(value->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace

Result<nlohmann::json> ParseJson(std::string_view source, std::string_view text) {
  // Looked at before a value is made: whatever walks a value recurses, and a text of nothing but
  // brackets would use up the stack.
  const size_t too_deep = FindTooDeep(text);
  if (too_deep != text.npos) {
    return Malformed(source, text, too_deep,
                     "nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    const bool cut_off = offset >= text.size();
    return Malformed(source, text, offset,
                     cut_off ? "not JSON: the text ends too early" : "not JSON here");
  } catch (const nlohmann::json::exception& error) {  // a number out of range
    return Error{ErrorCode::kBadInput,
                 std::string(source) + ": not JSON: " + Shortened(error.what()), ""};
  }
}

std::string JsonText(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

JsonReader::JsonReader(std::string source, const nlohmann::json& json)
    : JsonReader(std::move(source), "", &json) {}

JsonReader::JsonReader(std::string source, std::string path, const nlohmann::json* json)
    : source_(std::move(source)), path_(std::move(path)), json_(json) {}

bool JsonReader::Has(std::string_view key) const {
  return json_ != nullptr && json_->is_object() && json_->contains(key);
}

JsonReader JsonReader::At(std::string_view key) const {
  std::string path =
      path_.empty() ? Shortened(std::string(key)) : path_ + "." + Shortened(std::string(key));
  const nlohmann::json* found = nullptr;
  if (json_ != nullptr && json_->is_object()) {
    const auto field = json_->find(key);
    if (field != json_->end()) found = &*field;
  }
  return {source_, std::move(path), found};
}

JsonReader JsonReader::At(size_t index) const {
  const bool inside = json_ != nullptr && json_->is_array() && index < json_->size();
  return {source_, path_ + "[" + std::to_string(index) + "]", inside ? &(*json_)[index] : nullptr};
}

Result<int64_t> JsonReader::Int() const {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (json_ == nullptr || !json_->is_number_integer()) return Bad("an integer");
  if (json_->is_number_unsigned() && json_->get<uint64_t>() > kLargest) {
    return Bad("an integer below 2^63");
  }
  return json_->get<int64_t>();
}

Result<int64_t> JsonReader::IntIn(int64_t lowest, int64_t highest) const {
  const Result<int64_t> value = Int();
  if (value.ok() && *value >= lowest && *value <= highest) return *value;
  return Bad("an integer from " + std::to_string(lowest) + " to " + std::to_string(highest));
}

Result<double> JsonReader::Number() const {
  if (json_ != nullptr && json_->is_number()) return json_->get<double>();
  if (json_ != nullptr && json_->is_string()) {
    const auto& text = json_->get_ref<const std::string&>();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
  }
  return Bad("a number, \"nan\", \"inf\" or \"-inf\"");
}

Result<bool> JsonReader::Bool() const {
  if (json_ == nullptr || !json_->is_boolean()) return Bad("true or false");
  return json_->get<bool>();
}

Result<std::string> JsonReader::String() const {
  if (json_ == nullptr || !json_->is_string()) return Bad("a string");
  return json_->get<std::string>();
}

Result<std::vector<JsonReader>> JsonReader::Items() const {
  if (json_ == nullptr || !json_->is_array()) return Bad("an array");
  std::vector<JsonReader> items;
  items.reserve(json_->size());
  for (size_t i = 0; i < json_->size(); ++i) items.push_back(At(i));
  return items;
}

Result<std::vector<std::pair<std::string, JsonReader>>> JsonReader::Fields() const {
  if (json_ == nullptr || !json_->is_object()) return Bad("an object");
  std::vector<std::pair<std::string, JsonReader>> fields;
  fields.reserve(json_->size());
  for (const auto& [key, value] : json_->items()) fields.emplace_back(key, At(key));
  return fields;
}

Status JsonReader::OnlyFields(std::initializer_list<std::string_view> known,
                              std::initializer_list<std::string_view> besides) const {
  if (json_ == nullptr || !json_->is_object()) return Bad("an object");
  for (const auto& [key, value] : json_->items()) {
    // A field that is not known is refused and not passed over: it may be a misspelt one, or one of
    // a later program that changes what the others mean.
    if (std::ranges::find(known, key) != known.end()) continue;
    if (std::ranges::find(besides, key) != besides.end()) continue;
    return Error{ErrorCode::kBadInput,
                 source_ + ": " + At(key).path_ + ": unknown field; known here: " + Joined(known),
                 "remove it or correct its spelling"};
  }
  return {};
}

Error JsonReader::Bad(std::string_view expected) const {
  const std::string place = path_.empty() ? "" : path_ + ": ";
  return Error{
      ErrorCode::kBadInput,
      source_ + ": " + place + "expected " + std::string(expected) + ", found " + Shown(json_), ""};
}

nlohmann::json NumberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace warpsmith
