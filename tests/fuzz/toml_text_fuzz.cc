// JSON written as TOML and read as a task file is: the same document.
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "fuzz.h"
#include "task/toml_text.h"

using namespace warpsmith;

namespace {

// TomlText() takes no null, and TOML has no integers from 2^63.
bool CanBeToml(const nlohmann::json& value) {
  if (value.is_null()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return false;
  if (!value.is_structured()) return true;
  return std::all_of(value.begin(), value.end(), CanBeToml);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = ParseJson("input", fuzz::TextOf(data, size));
  if (fuzz::ValueOf(parsed) == nullptr) return 0;
  if (!parsed->is_object() || !CanBeToml(*parsed)) return 0;
  fuzz::WriteInFolder("written.toml", task::TomlText(*parsed, {"version", "name"}));
  const auto again = task::ReadTomlAsJson(fuzz::Folder() / "written.toml", "");
  if (!again.ok()) std::fprintf(stderr, "%s\n", again.error().Line().c_str());
  CHECK(again.ok() && *again == *parsed);
  return 0;
}
