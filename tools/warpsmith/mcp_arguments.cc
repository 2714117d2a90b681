#include "mcp_arguments.h"

#include "agent/knowledge/facts.h"

namespace warpsmith::cli {

Result<std::string> TextIn(const JsonReader& arguments, std::string_view field) {
  if (!arguments.Has(field)) return std::string();
  return arguments.At(field).String();
}

Result<std::string> NameIn(const JsonReader& arguments, std::string_view field) {
  const std::string text = TRY(TextIn(arguments, field));
  const std::string name = knowledge::CanonicalName(text);
  if (name.empty() && !text.empty()) return arguments.At(field).Bad("a name with letters in it");
  return name;
}

Result<int64_t> NumberIn(const JsonReader& arguments, std::string_view field, int64_t lowest,
                         int64_t highest, int64_t otherwise) {
  if (!arguments.Has(field)) return otherwise;
  return arguments.At(field).IntIn(lowest, highest);
}

Result<bool> FlagIn(const JsonReader& arguments, std::string_view field) {
  if (!arguments.Has(field)) return false;
  return arguments.At(field).Bool();
}

}  // namespace warpsmith::cli
